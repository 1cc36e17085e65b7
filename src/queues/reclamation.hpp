#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <type_traits>

#include <heddle/base/assert.hpp>
#include <heddle/base/cache_line.hpp>

namespace heddle {

/// Reclamation of nodes that other threads may still be reading, as a part that queues exchange:
/// `hazard_pointers` and `epochs` are tags with a member `domain<Node, Platform>`.
///
///   domain       owned by the queue; frees in its destructor whatever was retired and is not freed
///   participant  what one handle keeps; one thread at a time uses it
///   guard        lasts for one operation; what its protect() returns is not freed while it lives
///
/// A queue reads a shared pointer by `guard.protect(slot, source)`: each slot protects the last
/// node that was read through it. It retires a node once no new reader can find it, that is when
/// every shared pointer to it has been moved on, and before the guard that found it ends.
template <class Reclamation, class Node, class Platform>
concept reclamation = requires(
    typename Reclamation::template domain<Node, Platform>::participant& participant,
    const typename Reclamation::template domain<Node, Platform>::guard& guard,
    const typename Platform::template atomic<Node*>& source, std::size_t slot, Node* node) {
  requires std::constructible_from < std::remove_reference_t<decltype(participant)>,
  typename Reclamation::template domain<Node, Platform>& > ;
  requires std::constructible_from < std::remove_cvref_t<decltype(guard)>,
  decltype(participant) > ;
  { guard.protect(slot, source) } -> std::same_as<Node*>;
  { participant.identity() } -> std::same_as<const void*>;
  participant.retire(node);
};

/// How many nodes one guard protects at once: a queue's first and its last.
inline constexpr std::size_t protected_slots = 2;

/// Base of a node that can be retired: the link belongs to who has retired it.
template <class Node, class Platform>
struct retirable {
  typename Platform::template cell<Node*> next_retired{nullptr};
};

/// A list of retired nodes of one participant.
template <class Node, class Platform>
class retired_nodes {
 public:
  std::size_t size() const { return size_.load(); }

  void push(Node* node) {
    node->next_retired.store(first_.load());
    first_.store(node);
    size_.store(size_.load() + 1);
  }

  /// Deletes each node for which is_held(node) is false.
  template <class Predicate>
  void free_unless(const Predicate& is_held) {
    Node* node = first_.load();
    first_.store(nullptr);
    size_.store(0);
    while (node) {
      Node* const next = node->next_retired.load();
      if (is_held(node)) {
        push(node);
      } else {
        delete node;
      }
      node = next;
    }
  }

  void free_all() {
    free_unless([](const Node*) { return false; });
  }

 private:
  typename Platform::template cell<Node*> first_{nullptr};
  typename Platform::template cell<std::size_t> size_{0};
};

/// Base of what a domain keeps for one participant.
template <class Record, class Platform>
struct participant_record {
  typename Platform::template atomic<bool> taken{true};
  typename Platform::template cell<Record*> next_record{nullptr};
};

/// The records of a domain. They only ever become more, and live as long as the domain; one that
/// its participant has given back, with the nodes that could not be freed yet, is taken again.
///
/// Synchronisation: [listed] carries a new record to whoever walks the list; [handed] carries a
/// record's nodes from one participant to the next.
template <class Record, class Platform>
class participant_list {
 public:
  participant_list() = default;
  participant_list(const participant_list&) = delete;
  participant_list& operator=(const participant_list&) = delete;

  ~participant_list() {
    for (Record* record = first_.load(std::memory_order_acquire); record;) {
      // relaxed: whoever destroys a queue orders the use of its handles before.
      HEDDLE_ASSERT(!record->taken.load(std::memory_order_relaxed));
      Record* const next = record->next_record.load();
      delete record;
      record = next;
    }
  }

  /// Errors: std::bad_alloc. Lock-free; O(participants).
  Record& take() {
    for (Record* record = first(); record; record = record->next_record.load()) {
      // relaxed: a guess. [handed] acquire ← release in give_back.
      if (!record->taken.load(std::memory_order_relaxed) &&
          !record->taken.exchange(true, std::memory_order_acquire)) {
        return *record;
      }
    }
    return add(*new Record);
  }

  /// [handed] release → acquire in take.
  void give_back(Record& record) { record.taken.store(false, std::memory_order_release); }

  /// relaxed: a measure of how much garbage is worth a look, no more.
  std::size_t size() const { return size_.load(std::memory_order_relaxed); }

  template <class Function>
  void for_each(const Function& function) const {
    for (Record* record = first(); record; record = record->next_record.load()) function(*record);
  }

 private:
  /// [listed] acquire ← release in add: the first record and, since each addition continues the
  /// release sequences of those before it, all others.
  Record* first() const { return first_.load(std::memory_order_acquire); }

  Record& add(Record& record) {
    Record* first = first_.load(std::memory_order_relaxed);  // relaxed: nothing is read through it.
    do {
      record.next_record.store(first);
      // [listed] release → acquire in first().
    } while (!first_.compare_exchange_weak(first, &record, std::memory_order_release,
                                           std::memory_order_relaxed));
    size_.fetch_add(1, std::memory_order_relaxed);
    return record;
  }

  typename Platform::template atomic<Record*> first_{nullptr};
  typename Platform::template atomic<std::size_t> size_{0};
};

}  // namespace heddle
