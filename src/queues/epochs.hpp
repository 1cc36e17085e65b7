#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

#include <heddle/queues/queue_traits.hpp>
#include <heddle/queues/reclamation.hpp>

namespace heddle {

/// A global epoch advances when every participant inside an operation has announced it; a node that
/// was retired in an epoch is freed two epochs later, when all who could have found it have left.
///
/// Source:   K. Fraser, "Practical lock-freedom", UCAM-CL-TR-579, 2004, section 5.2.3; T. E. Hart
///           et al., "Performance of memory reclamation for lockless synchronization", JPDC 67(12),
///           2007.
/// Threads:  a participant and its guards are used by one thread at a time; all else any.
/// Progress: every operation is wait-free, but for the allocator when a participant is made.
/// Bound:    none: a thread that stalls inside a guard keeps all that is retired meanwhile.
///
/// A guard costs one full fence, and protect then is a plain load: the reverse of hazard pointers,
/// which pay for each new node. Retiring looks at all participants, so nodes should be segments of
/// many items.
///
/// Synchronisation: one store–load pair keeps the epoch from running away from a reader:
///
///   guard                                     retire
///   announced.store(epoch)                    the shared pointer leaves node; epoch_.load()
///   fence(seq_cst)                            fence(seq_cst)
///   source.load()                             epoch_.load(), announced.load()
///
/// Let a reader announce r and still find the node. Its fence then stands before that of who
/// retires the node, so the node's epoch n, read after that fence, is at least r. Who advances and
/// missed the announcement has its fence before the reader's, hence an epoch of at most n; who sees
/// the announcement advances from r only. So the epoch stays below n + 2 while the reader is
/// inside. [left] carries the end of a guard to who advances the epoch, [advanced] from there to
/// who frees.
struct epochs {
  template <class Node, class Platform>
  class domain;
};

template <class Node, class Platform>
class epochs::domain {
  template <class Value>
  using atomic = typename Platform::template atomic<Value>;
  using epoch = std::uint64_t;

  static constexpr epoch outside = 0;
  static constexpr epoch first_epoch = 4;
  static constexpr epoch grace_epochs = 2;

  /// Nodes retired in one epoch; of three bags in turn, one has waited long enough when it is used
  /// again.
  struct bag {
    retired_nodes<Node, Platform> nodes;
    typename Platform::template cell<epoch> retired_in{0};
  };

  struct alignas(cache_line_bytes) record : participant_record<record, Platform> {
    ~record() {
      for (bag& bag : bags) bag.nodes.free_all();
    }

    bool retired_any() const {
      return std::any_of(bags.begin(), bags.end(), [](const bag& bag) { return bag.nodes.size(); });
    }

    atomic<epoch> announced{outside};
    std::array<bag, grace_epochs + 1> bags;
  };

 public:
  class guard;

  class participant {
   public:
    explicit participant(domain& domain) : domain_(domain), record_(domain.records_.take()) {}
    participant(const participant&) = delete;
    participant& operator=(const participant&) = delete;
    ~participant() {
      if (record_.retired_any()) free_old(domain_.advance());
      domain_.records_.give_back(record_);
    }

    /// Differs from that of every other participant that is alive.
    const void* identity() const { return &record_; }

    void retire(Node* node) {
      const epoch now = domain_.advance();
      bag& bag = record_.bags[now % record_.bags.size()];
      if (bag.retired_in.load() != now) {
        bag.nodes.free_all();
        bag.retired_in.store(now);
      }
      bag.nodes.push(node);
      free_old(now);
    }

   private:
    friend class guard;

    void free_old(epoch now) {
      for (bag& bag : record_.bags) {
        if (bag.retired_in.load() + grace_epochs <= now) bag.nodes.free_all();
      }
    }

    domain& domain_;
    record& record_;
  };

  class guard {
   public:
    explicit guard(participant& participant) : record_(participant.record_) {
      // relaxed: an old epoch only delays the next one. A participant has one guard at a time.
      const epoch now = participant.domain_.epoch_.load(std::memory_order_relaxed);
      HEDDLE_ASSERT(record_.announced.load(std::memory_order_relaxed) == outside);
      // relaxed: as a read-modify-write it continues the release of the last guard's end. An
      // exchange, since on x86 that is the fence.
      record_.announced.exchange(now, std::memory_order_relaxed);
      Platform::fence_after_update();  // The left column.
    }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard() {
      // [left] release → acquire in advance.
      record_.announced.store(outside, std::memory_order_release);
    }

    /// The node to which `source` points. The load acquires.
    Node* protect(std::size_t /*slot*/, const atomic<Node*>& source) const {
      return source.load(std::memory_order_acquire);
    }

   private:
    record& record_;
  };

 private:
  /// Begins the next epoch if every guard has announced the present one. Returns the epoch of what
  /// the caller has unlinked before.
  epoch advance() {
    const epoch before = epoch_.load(std::memory_order_relaxed);  // relaxed: see the right column.
    Platform::fence(std::memory_order_seq_cst);                   // The right column.
    // [advanced] acquire ← release below: what this epoch sets free was left by its readers.
    const epoch now = epoch_.load(std::memory_order_acquire);
    bool all_here = true;
    records_.for_each([&](const record& record) {
      // [left] acquire ← release at the end of a guard.
      const epoch announced = record.announced.load(std::memory_order_acquire);
      all_here = all_here && (announced == outside || announced == before);
    });
    if (all_here) {
      // [advanced] release → acquire above; acquire, since an epoch passes on what the one before
      // it knew. relaxed on failure: another thread has begun it.
      epoch expected = before;
      epoch_.compare_exchange_strong(expected, before + 1, std::memory_order_acq_rel,
                                     std::memory_order_relaxed);
    }
    return now;
  }

  participant_list<record, Platform> records_;
  alignas(cache_line_bytes) atomic<epoch> epoch_{first_epoch};
};

}  // namespace heddle
