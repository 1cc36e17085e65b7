// Published bugs of queues, each in a small form of its algorithm: shows which layer catches it,
// and that the same client passes with the form that does not have it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "table.hpp"

namespace heddle::mutants {
namespace {

/// What one layer found, a line of the data file.
struct finding {
  std::string mutant;
  bool caught = false;
  std::string layer;
  std::string client;
  std::uint64_t executions = 0;  ///< until caught, else all
  std::uint64_t executions_of_correct_forms = 0;
  std::string seed{};  ///< replays it
  std::string what{};
};

std::vector<finding>& findings() {
  static std::vector<finding> all;
  return all;
}

explore::options options_of(const mutant& mutant, explore::memory model) {
  explore::options options;
  options.model = model;
  options.most_executions = mutant.most_executions;
  return options;
}

/// The forms without the bug pass, the one with it is caught as the table says, and its seed finds
/// the same again.
void explore_all(const mutant& mutant, explore::memory model) {
  const bool sc = model == explore::memory::sc;
  model_threads::in_real_time = sc;
  explore::options options = options_of(mutant, model);
  std::uint64_t of_correct_forms = 0;
  for (const program& one : mutant.correct) {
    const explore::report report = explore::explore(options, one.under_explorer);
    of_correct_forms += report.executions;
    ASSERT_FALSE(report.found) << one.queue << ", execution " << report.executions << ": "
                               << report.found->what << "\n"
                               << report.found->trace;
  }
  const explore::report report = explore::explore(options, mutant.mutated->under_explorer);
  finding found{.mutant = mutant.name,
                .caught = report.found.has_value(),
                .layer = sc ? "explore-sc" : "explore-c11",
                .client = mutant.client,
                .executions = report.executions,
                .executions_of_correct_forms = of_correct_forms};
  if (report.found) {
    found.seed = report.found->seed;
    found.what = report.found->what;
  }
  findings().push_back(found);
  if (!sc || !mutant.weak) {
    ASSERT_TRUE(report.found) << "not caught in " << report.executions << " executions";
  }
  if (sc && mutant.weak) {
    // And in no execution at all: in the other mode it was exploration that found it, not luck.
    ASSERT_FALSE(report.found) << "needs weak memory, and mode sc finds it: " << found.what << "\n"
                               << report.found->trace;
    ASSERT_TRUE(report.complete);
  }
  if (!report.found) return;
  options.replay = found.seed;
  const explore::report again = explore::explore(options, mutant.mutated->under_explorer);
  ASSERT_TRUE(again.found) << "the seed does not find it again";
  EXPECT_EQ(again.found->what, found.what);
}

void stress(const mutant& mutant) {
  constexpr std::uint64_t most_rounds = 50'000;
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(800);
  real_threads::helpers() = std::make_unique<crew>();
  finding found{.mutant = mutant.name, .layer = "stress", .client = mutant.client};
  while (!found.caught && found.executions < most_rounds &&
         std::chrono::steady_clock::now() < end) {
    ++found.executions;
    try {
      mutant.mutated->on_real_threads();
    } catch (const std::runtime_error& error) {
      found.caught = true;
      found.what = error.what();
    }
  }
  real_threads::helpers().reset();
  findings().push_back(found);
}

void run_alone(const mutant& mutant) {
  constexpr std::uint64_t most_seeds = 100;
  finding found{.mutant = mutant.name, .layer = "model", .client = mutant.client};
  for (std::uint64_t seed = 1; seed <= most_seeds; ++seed) {
    ++found.executions_of_correct_forms;
    ASSERT_EQ(mutant.correct_alone(seed), std::nullopt) << "correct form, seed " << seed;
    if (found.caught) continue;
    ++found.executions;
    if (const auto differs = mutant.mutated_alone(seed)) {
      found.caught = true;
      found.seed = std::to_string(seed);
      found.what = *differs;
    }
  }
  findings().push_back(found);
  ASSERT_TRUE(found.caught);
  EXPECT_EQ(mutant.mutated_alone(std::stoull(found.seed)), found.what) << "not found again";
}

class is_caught : public testing::Test {
 public:
  explicit is_caught(const mutant& subject) : subject_(subject) {}

  void TestBody() override {
    if (subject_.correct_alone) run_alone(subject_);
    if (!subject_.mutated) return;
    for (const auto model : {explore::memory::sc, explore::memory::c11}) {
      explore_all(subject_, model);
      if (HasFatalFailure()) return;
    }
    if (subject_.mutated->on_real_threads) stress(subject_);
  }

 private:
  const mutant& subject_;
};

/// The guide has a line for each mutant, with the client and the layers that are asserted here.
class is_in_the_guide : public testing::Test {
 public:
  explicit is_in_the_guide(std::string file) : file_(std::move(file)) {}

  void TestBody() override {
    std::ifstream guide(file_);
    ASSERT_TRUE(guide) << file_;
    std::set<std::string> lines;
    for (std::string line; std::getline(guide, line);) lines.insert(line);
    for (const mutant& one : table()) {
      const std::string begin = "| " + one.name + " |";
      const std::string end = " | " + one.client + " | " + caught_by(one) + " |";
      EXPECT_TRUE(std::any_of(
          lines.begin(), lines.end(),
          [&](const std::string& line) { return line.starts_with(begin) && line.ends_with(end); }))
          << "no line " << begin << " ..." << end;
    }
  }

 private:
  static std::string caught_by(const mutant& mutant) {
    if (mutant.correct_alone) return "model";
    return mutant.weak ? "explore-c11, weak" : "explore-sc, explore-c11";
  }

  const std::string file_;
};

/// The second form of a bug counts for the bug: M4-stale-array for M4.
std::string bug_number(const std::string& name) { return name.substr(0, name.find('-')); }

void write_csv(std::ostream& out) {
  out << "mutant,caught,layer,client,executions,seed,executions_of_correct_forms\n";
  for (const finding& one : findings()) {
    out << one.mutant << ',' << (one.caught ? "yes" : "no") << ',' << one.layer << ",\""
        << one.client << "\"," << one.executions << ',' << one.seed << ','
        << one.executions_of_correct_forms << '\n';
  }
}

void print_table() {
  std::printf("\n%-20s %-12s %-12s %-12s %-12s client\n", "mutant", "model", "explore-sc",
              "explore-c11", "stress");
  std::set<std::string> published, caught;
  for (const mutant& mutant : table()) {
    std::printf("%-20s", mutant.name.c_str());
    for (const char* layer : {"model", "explore-sc", "explore-c11", "stress"}) {
      std::string cell = "-";
      for (const finding& one : findings()) {
        if (one.mutant != mutant.name || one.layer != layer) continue;
        cell = (one.caught ? "yes " : "no ") + std::to_string(one.executions);
        const bool counts = one.caught && one.layer != "stress" && mutant.name[0] == 'M';
        if (counts) caught.insert(bug_number(mutant.name));
      }
      std::printf(" %-12s", cell.c_str());
    }
    std::printf(" %s%s\n", mutant.weak ? "weak: " : "", mutant.client.c_str());
    if (mutant.name[0] == 'M') published.insert(bug_number(mutant.name));
  }
  std::printf("%zu of %zu published bugs caught; yes or no, and the executions it took\n",
              caught.size(), published.size());
}

}  // namespace
}  // namespace heddle::mutants

/// Arguments: the data file to write, and the guide to check.
int main(int argument_count, char** arguments) {
  using namespace heddle::mutants;
  testing::InitGoogleTest(&argument_count, arguments);
  static const std::vector<mutant> all = table();
  for (const mutant& one : all) {
    testing::RegisterTest("queue_mutants", (one.name + ": " + one.bug).c_str(), nullptr, nullptr,
                          __FILE__, __LINE__,
                          [&one]() -> testing::Test* { return new is_caught(one); });
  }
  if (argument_count > 2) {
    testing::RegisterTest(
        "queue_mutants", "every_one_is_in_the_guide", nullptr, nullptr, __FILE__, __LINE__,
        [arguments]() -> testing::Test* { return new is_in_the_guide(arguments[2]); });
  }
  const int failed = RUN_ALL_TESTS();
  print_table();
  if (argument_count > 1) {
    std::ofstream file(arguments[1]);
    write_csv(file);
    if (!file) {
      std::fprintf(stderr, "cannot write %s\n", arguments[1]);
      return 1;
    }
  }
  return failed;
}
