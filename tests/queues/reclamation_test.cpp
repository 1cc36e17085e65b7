#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <heddle/base/platform.hpp>
#include <heddle/queues/epochs.hpp>
#include <heddle/queues/hazard_pointers.hpp>

namespace heddle {
namespace {

constexpr int operations = 20'000;

/// Knows whether it is alive, also after its death when its memory is not used again.
struct node : retirable<node, native> {
  static constexpr unsigned living = 0xa11fe;
  inline static std::atomic<int> alive{0};

  node() { alive.fetch_add(1, std::memory_order_relaxed); }
  ~node() {
    state.store(0, std::memory_order_relaxed);
    alive.fetch_sub(1, std::memory_order_relaxed);
  }
  bool is_alive() const { return state.load(std::memory_order_relaxed) == living; }

  std::atomic<unsigned> state{living};
};

using source = std::atomic<node*>;

template <class Reclamation>
struct reclaimed : testing::Test {
  using domain = typename Reclamation::template domain<node, native>;
  using participant = typename domain::participant;
  using guard = typename domain::guard;
  static_assert(reclamation<Reclamation, node, native>);

  reclaimed() {
    for (source& source : sources) source.store(new node);
    node::alive.store(static_cast<int>(sources.size()));
  }
  ~reclaimed() override {
    for (source& source : sources) delete source.load();
  }

  static int alive() { return node::alive.load(); }

  /// What a queue does: the shared pointer moves on, then the node is retired.
  static void replace(source& source, participant& by) {
    const guard guard(by);
    by.retire(source.exchange(new node, std::memory_order_acq_rel));
  }

  std::array<source, protected_slots> sources;
};

using both = testing::Types<hazard_pointers, epochs>;

struct names {
  template <class Reclamation>
  static std::string GetName(int) {
    return std::is_same_v<Reclamation, epochs> ? "epochs" : "hazard_pointers";
  }
};

TYPED_TEST_SUITE(reclaimed, both, names);

TYPED_TEST(reclaimed, frees_everything_at_the_end) {
  {
    typename TestFixture::domain domain;
    typename TestFixture::participant writer(domain);
    for (int count = 0; count < 1001; ++count) this->replace(this->sources[0], writer);
    EXPECT_GT(this->alive(), 2);
  }
  EXPECT_EQ(this->alive(), 2);
}

TYPED_TEST(reclaimed, keeps_what_is_protected_in_each_slot_and_frees_it_when_the_reader_has_gone) {
  typename TestFixture::domain domain;
  typename TestFixture::participant writer(domain);
  for (std::size_t slot = 0; slot < protected_slots; ++slot) {
    std::optional<typename TestFixture::participant> reader(std::in_place, domain);
    std::optional<typename TestFixture::guard> guard(std::in_place, *reader);
    node* const found = guard->protect(slot, this->sources[slot]);
    EXPECT_EQ(found, this->sources[slot].load());
    for (int count = 0; count < 1000; ++count) {
      this->replace(this->sources[slot], writer);
      ASSERT_TRUE(found->is_alive());
    }
    guard.reset();
    reader.reset();
    for (int count = 0; count < 100; ++count) this->replace(this->sources[slot], writer);
    EXPECT_LT(this->alive(), 50);
  }
}

TYPED_TEST(reclaimed, protects_in_one_slot_while_another_one_moves_on) {
  typename TestFixture::domain domain;
  typename TestFixture::participant writer(domain);
  typename TestFixture::participant reader(domain);
  const typename TestFixture::guard guard(reader);
  const node* const found = guard.protect(0, this->sources[0]);
  for (int count = 0; count < 100; ++count) {
    this->replace(this->sources[0], writer);
    this->replace(this->sources[1], writer);
    ASSERT_TRUE(guard.protect(1, this->sources[1])->is_alive());
    ASSERT_TRUE(found->is_alive());
  }
}

TYPED_TEST(reclaimed, frees_what_participants_left_that_are_gone) {
  typename TestFixture::domain domain;
  std::optional<typename TestFixture::participant> reader(std::in_place, domain);
  {
    const typename TestFixture::guard guard(*reader);
    guard.protect(0, this->sources[0]);
    typename TestFixture::participant short_lived(domain);
    for (int count = 0; count < 3; ++count) this->replace(this->sources[0], short_lived);
  }
  reader.reset();
  EXPECT_GT(this->alive(), 2);
  for (int count = 0; count < 100; ++count) {
    typename TestFixture::participant short_lived(domain);
    this->replace(this->sources[0], short_lived);
  }
  EXPECT_LT(this->alive(), 2 + 20);
}

TYPED_TEST(reclaimed, gives_each_living_participant_an_identity_of_its_own) {
  typename TestFixture::domain domain;
  typename TestFixture::participant first(domain);
  typename TestFixture::participant second(domain);
  EXPECT_NE(first.identity(), second.identity());
}

TYPED_TEST(reclaimed, is_never_read_after_it_was_freed_while_threads_come_and_go) {
  {
    typename TestFixture::domain domain;
    std::atomic<int> dead_reads{0};
    const auto body = [&](unsigned number) {
      std::minstd_rand random(number + 1);
      std::optional<typename TestFixture::participant> self(std::in_place, domain);
      for (int count = 0; count < operations; ++count) {
        if (random() % 64 == 0) self.emplace(domain);
        source& source = this->sources[random() % protected_slots];
        if (random() % 4 == 0) {
          this->replace(source, *self);
          continue;
        }
        const typename TestFixture::guard guard(*self);
        const node* const found = guard.protect(random() % protected_slots, source);
        if (random() % 64 == 0) std::this_thread::yield();
        if (!found->is_alive()) dead_reads.fetch_add(1, std::memory_order_relaxed);
      }
    };
    for (int round = 0; round < 3; ++round) {
      std::vector<std::jthread> threads;
      for (unsigned number = 0; number < 6; ++number) threads.emplace_back(body, number);
    }
    EXPECT_EQ(dead_reads.load(), 0);
  }
  EXPECT_EQ(this->alive(), 2);
}

/// A reader stalls in its guard while another thread retires 10,000 nodes; returns how many were
/// there at most.
template <class Fixture>
int most_alive_beside_a_stalled_reader(Fixture& fixture, source& source) {
  typename Fixture::domain domain;
  typename Fixture::participant writer(domain);
  typename Fixture::participant reader(domain);
  const typename Fixture::guard guard(reader);
  guard.protect(0, source);
  int most = 0;
  for (int count = 0; count < 10'000; ++count) {
    fixture.replace(source, writer);
    most = std::max(most, fixture.alive());
  }
  return most;
}

struct hazard_pointers_alone : reclaimed<hazard_pointers> {};
struct epochs_alone : reclaimed<epochs> {};

TEST_F(hazard_pointers_alone, keep_little_garbage_beside_a_stalled_reader) {
  constexpr int participants = 2;
  constexpr int slots = protected_slots;
  // What the header promises for the one record that retires, what is published, and what is in
  // its place still.
  constexpr int bound = 2 * participants * slots + participants * slots + slots;
  EXPECT_LE(most_alive_beside_a_stalled_reader(*this, sources[0]), bound);
}

TEST_F(epochs_alone, keep_all_garbage_beside_a_stalled_reader) {
  EXPECT_GT(most_alive_beside_a_stalled_reader(*this, sources[0]), 10'000);
  EXPECT_EQ(alive(), 2);
}

}  // namespace
}  // namespace heddle
