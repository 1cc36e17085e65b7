#include <functional>
#include <string>
#include <type_traits>

#include <explore/explore.hpp>
#include <gtest/gtest.h>

#include <heddle/queues/epochs.hpp>
#include <heddle/queues/hazard_pointers.hpp>

namespace heddle {
namespace {

using explore::model;

/// A node that is freed is no longer there for the explorer: a read of it is a failure.
struct node : retirable<node, model> {
  model::cell<int> value{1};
};

using source = model::atomic<node*>;

template <class Reclamation>
struct part {
  using domain = typename Reclamation::template domain<node, model>;
  using participant = typename domain::participant;
  using guard = typename domain::guard;
};

template <class Part>
void read(typename Part::participant& self, std::size_t slot, const source& from) {
  const typename Part::guard guard(self);
  explore::require(guard.protect(slot, from)->value.load() == 1, "a node that is alive");
}

template <class Part>
void replace(typename Part::participant& self, source& at) {
  const typename Part::guard guard(self);
  self.retire(at.exchange(new node, std::memory_order_acq_rel));
}

/// A list of two ends over one node: what one thread has moved on, another one retires.
template <class Part>
void retire_what_another_moved() {
  source ends[2]{new node, nullptr};
  ends[1].store(ends[0].load(std::memory_order_relaxed), std::memory_order_relaxed);
  node* const first = ends[0].load(std::memory_order_relaxed);
  node* const second = new node;
  {
    typename Part::domain domain;
    typename Part::participant retirer(domain), mover(domain), reader(domain);
    explore::thread moves([&] {
      const typename Part::guard guard(mover);
      ends[1].store(second, std::memory_order_release);
    });
    explore::thread reads([&] { read<Part>(reader, 1, ends[1]); });
    const typename Part::guard guard(retirer);
    if (ends[1].load(std::memory_order_acquire) == second) {
      ends[0].store(second, std::memory_order_release);
      retirer.retire(first);
    }
    moves.join();
    reads.join();
  }
  if (ends[0].load(std::memory_order_relaxed) != second) delete first;
  delete second;
}

template <class Part>
void read_beside_replacements() {
  source shared{new node};
  {
    typename Part::domain domain;
    typename Part::participant writer(domain), reader(domain);
    explore::thread reads([&] {
      read<Part>(reader, 0, shared);
      read<Part>(reader, 0, shared);
    });
    for (int count = 0; count < 3; ++count) replace<Part>(writer, shared);
  }
  delete shared.load(std::memory_order_relaxed);
}

template <class Part>
void participants_come_and_go() {
  source shared{new node};
  {
    typename Part::domain domain;
    const auto both = [&] {
      typename Part::participant self(domain);
      replace<Part>(self, shared);
      read<Part>(self, 0, shared);
    };
    explore::thread other(both);
    both();
  }
  delete shared.load(std::memory_order_relaxed);
}

/// The model, with fences that do nothing.
struct unfenced : model {
  static void fence(std::memory_order) noexcept {}
  static void fence_after_update() noexcept {}
};

void expect_none(const char* name, const std::function<void()>& client) {
  for (const auto search : {explore::strategy::exhaustive, explore::strategy::random}) {
    const explore::report done =
        explore::explore({.search = search, .most_executions = 4'000, .name = name}, client);
    ASSERT_FALSE(done.found) << done.found->what << "\n" << done.found->trace;
    if (done.complete) return;
  }
}

template <class Reclamation>
struct explored_reclamation : testing::Test {};

struct names {
  template <class Reclamation>
  static std::string GetName(int) {
    return std::is_same_v<Reclamation, epochs> ? "epochs" : "hazard_pointers";
  }
};

using both = testing::Types<hazard_pointers, epochs>;
TYPED_TEST_SUITE(explored_reclamation, both, names);

TYPED_TEST(explored_reclamation, frees_nothing_that_is_read_beside_replacements) {
  expect_none("read, read | replace x3", read_beside_replacements<part<TypeParam>>);
}

TYPED_TEST(explored_reclamation, frees_nothing_that_is_read_when_another_moved_the_pointer) {
  expect_none("move | read | retire", retire_what_another_moved<part<TypeParam>>);
}

TYPED_TEST(explored_reclamation, frees_nothing_that_is_read_while_participants_come_and_go) {
  expect_none("replace, read | replace, read", participants_come_and_go<part<TypeParam>>);
}

struct unfenced_node : retirable<unfenced_node, unfenced> {
  model::cell<int> value{1};
};

TYPED_TEST(explored_reclamation, frees_what_is_read_without_its_fences) {
  using domain = typename TypeParam::template domain<unfenced_node, unfenced>;
  const explore::report done = explore::explore({.search = explore::strategy::random}, [] {
    model::atomic<unfenced_node*> shared{new unfenced_node};
    {
      domain domain;
      typename decltype(domain)::participant writer(domain), reader(domain);
      explore::thread reads([&] {
        const typename decltype(domain)::guard guard(reader);
        explore::require(guard.protect(0, shared)->value.load() == 1, "a node that is alive");
      });
      for (int count = 0; count < 3; ++count) {
        const typename decltype(domain)::guard guard(writer);
        writer.retire(shared.exchange(new unfenced_node, std::memory_order_acq_rel));
      }
    }
    delete shared.load(std::memory_order_relaxed);
  });
  ASSERT_TRUE(done.found);
  EXPECT_NE(done.found->what.find("destroyed"), std::string::npos) << done.found->what;
}

}  // namespace
}  // namespace heddle
