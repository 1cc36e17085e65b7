#include <cstdio>

#include "explore_client.hpp"

namespace heddle::queue_test {
namespace {

struct client {
  const char* text;
  /// Whether handles have been used before, so that the few calls explore the queue and not the
  /// allocation of nodes.
  bool warm = true;
  std::size_t least_capacity = 0;  ///< if the queue is bounded; 0: the smallest that it has
};

/// Each queue runs those that its traits allow.
constexpr client clients[] = {
    // Calls of one kind, or with one consumer.
    {"push push | pop pop"},
    {"push | push | pop pop"},
    {"push push | push push | pop pop pop"},
    {"push look push | look pop look pop"},
    // Every thread pushes and pops.
    {"push pop | push pop"},
    {"push pop | push pop", false},
    {"push: pop | push pop push"},  // an empty queue of reused nodes
    {"push pop | push pop push"},
    {"push pop | push pop | push pop"},
    {"push push: pop | pop | push pop"},
    {"push push: push pop | pop push"},
    {"push push push | pop pop push pop"},
    {"push look pop | push pop look"},
    // An owner and thieves.
    {"push | steal"},
    {"push: pop | steal"},
    {"push push pop | steal"},
    {"push push pop | steal", false},
    {"push push: pop | steal | steal"},
    {"push push pop | steal | steal"},
    {"push push push pop pop | steal"},
    {"push push: push push pop | steal steal"},
    {"push pop push pop | steal steal"},
    {"push look pop | steal look"},
    {"push push push: pop push | half", true, 4},
    {"push push push push: pop | half | steal", true, 4},
    {"push push: pop push | half | half"},
    {"push push push publish | steal steal"},
    {"push push push push: push publish | steal steal"},
};

/// Default budget of a client, after which the search goes on at random: complete where it is
/// small, and a few seconds for all clients of a queue, also where one execution is long.
constexpr std::uint64_t default_executions = 20'000;
constexpr std::uint64_t default_steps = 1'000'000;
/// With HEDDLE_LONG in the environment.
constexpr std::uint64_t long_executions = 2'000'000;

constexpr std::uint64_t next_to_wrap = std::numeric_limits<std::uint64_t>::max() - 3;

queue_options options_for(const client& client) {
  queue_options options{.handles = 3, .first_index = next_to_wrap};
  if (traits.bounded) {
    options.capacity_slots = std::max(client.least_capacity, traits.smallest_capacity);
  }
  return options;
}

std::string outcome(const explore::report& done, const explore::options& options) {
  const bool random = options.search == explore::strategy::random;
  std::string text = std::to_string(done.executions) + (random ? " at random" : " executions");
  if (done.redundant != 0) text += ", " + std::to_string(done.redundant) + " redundant";
  if (!random) {
    text += done.complete ? ", complete"
                          : ", stopped after " + std::to_string(done.executions + done.redundant);
  }
  if (done.cut != 0) {
    text += ", " + std::to_string(done.cut) + " cut (a spin, or " +
            std::to_string(options.most_steps) + " steps)";
  }
  return text;
}

/// Explores one client: first in order, and if that does not end, at random too.
template <class Queue>
void explore_client(const client& client) {
  const program program(client.text);
  const queue_options queue_options = options_for(client);
  explore::options options;
  const bool is_long = std::getenv("HEDDLE_LONG") != nullptr;
  options.most_executions = is_long ? long_executions : default_executions;
  if (!is_long) options.most_steps_in_all = default_steps;
  std::string told;
  for (const auto search : {explore::strategy::exhaustive, explore::strategy::random}) {
    options.search = search;
    const explore::report done = explore::explore(options, [&] {
      explored_run<Queue> run(program, queue_options, client.warm);
      run();
    });
    told += (told.empty() ? "" : "; ") + outcome(done, options);
    if (done.found) {
      FAIL() << done.found->what << "\n"
             << done.found->trace << "\nHEDDLE_REPLAY=" << done.found->seed;
    }
    if (done.complete) break;
  }
  std::printf("%s: %s%s: %s\n", queue_name, client.text, client.warm ? "" : " (new handles)",
              told.c_str());
}

template <class Queue>
class explored_client : public testing::Test {
 public:
  explicit explored_client(const client& client) : client_(client) {}
  void TestBody() override { explore_client<Queue>(client_); }

 private:
  const client& client_;
};

std::string test_name(const client& client) {
  std::string name = client.text + std::string(client.warm ? "" : " with new handles");
  for (const auto& [sign, word] : {std::pair{":", " then"}, std::pair{"|", "beside"}}) {
    for (std::size_t at; (at = name.find(sign)) != name.npos;) name.replace(at, 1, word);
  }
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

/// Loses the second item that its owner takes.
template <class Queue>
class losing : public Queue {
 public:
  using Queue::Queue;

  auto try_pop(typename Queue::handle& handle) {
    auto taken = Queue::try_pop(handle);
    if (taken && ++taken_ == 2) taken = {};
    return taken;
  }

 private:
  int taken_ = 0;
};

template <class Queue>
class broken_queue : public testing::Test {
 public:
  void TestBody() override {
    const client client{"push push pop pop", false};
    const program program(client.text);
    const queue_options options = options_for(client);
    const explore::report done = explore::explore({}, [&] {
      explored_run<losing<Queue>> run(program, options, client.warm);
      run();
    });
    ASSERT_TRUE(done.found) << "a lost item was not noticed";
    EXPECT_NE(done.found->what.find("an item was lost"), std::string::npos) << done.found->what;
  }
};

class not_explored : public testing::Test {
 public:
  void TestBody() override { GTEST_SKIP() << "it has atomics of its own, not the platform's"; }
};

/// One test for each client that applies; a skipped one for a queue that runs on `native` only.
template <class Tag>
bool register_clients() {
  const auto add = [](const char* suite, const std::string& name, const auto& make) {
    testing::RegisterTest(suite, name.c_str(), nullptr, nullptr, __FILE__, __LINE__, make);
  };
  if constexpr (Tag::traits.native_only) {
    add("explored_queue", "is_explored", []() -> testing::Test* { return new not_explored; });
  } else {
    using queue = typename Tag::template type<explored_item*, explore::model>;
    for (const client& client : clients) {
      if (!applies<queue>(program(client.text))) continue;
      add("explored_queue", test_name(client),
          [&client]() -> testing::Test* { return new explored_client<queue>(client); });
    }
    add("explored_broken_queue", "is_found_when_it_loses_an_item",
        []() -> testing::Test* { return new broken_queue<queue>; });
  }
  return true;
}

const bool registered = register_clients<queue_under_test>();

}  // namespace
}  // namespace heddle::queue_test
