#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include <heddle/queues/queue_traits.hpp>
#include <heddle/queues/reclamation.hpp>

namespace heddle {

/// Each participant publishes the few nodes that it is about to read; a retired node is freed when
/// nobody publishes it.
///
/// Source:   M. M. Michael, "Hazard pointers: safe memory reclamation for lock-free objects", IEEE
///           TPDS 15(6), 2004.
/// Threads:  a participant and its guards are used by one thread at a time; all else any.
/// Progress: protect is lock-free: it looks again whenever the source has moved; retire is
///           wait-free, but for the allocator when there are more participants than ever before.
/// Bound:    with P participants, at most 2·P·protected_slots nodes wait in each of the P records
///           beyond those that are published, whatever other threads do or how long they stall.
///
/// A slot stays published when its guard ends. So the next operation on the same node, which is the
/// usual case when nodes are segments of many items, pays for no fence; in return an idle
/// participant holds back one node a slot.
///
/// Synchronisation: one store–load pair keeps a node that is read from being freed:
///
///   protect                                   retire
///   hazard.store(node)                        the shared pointer leaves node
///   fence(seq_cst)                            fence(seq_cst)
///   source.load(): still node?                hazard.load(): node?
///
/// Either the reader sees that the pointer has left and looks again, or the other sees the hazard
/// and keeps the node. [left] tells who frees a node that its last reader has finished.
struct hazard_pointers {
  template <class Node, class Platform>
  class domain;
};

template <class Node, class Platform>
class hazard_pointers::domain {
  template <class Value>
  using atomic = typename Platform::template atomic<Value>;

  struct alignas(cache_line_bytes) record : participant_record<record, Platform> {
    ~record() { retired.free_all(); }

    std::array<atomic<Node*>, protected_slots> hazards{};
    retired_nodes<Node, Platform> retired;
    std::vector<Node*> published;  ///< scratch of reclaim()
  };

 public:
  class guard;

  class participant {
   public:
    explicit participant(domain& domain) : domain_(domain), record_(domain.records_.take()) {}
    participant(const participant&) = delete;
    participant& operator=(const participant&) = delete;
    ~participant() {
      for (auto& hazard : record_.hazards) {
        hazard.store(nullptr, std::memory_order_release);  // [left] release → acquire in reclaim.
      }
      if (record_.retired.size() != 0) reclaim();
      domain_.records_.give_back(record_);
    }

    /// Differs from that of every other participant that is alive.
    const void* identity() const { return &record_; }

    /// Errors: std::bad_alloc; the node is then retired all the same.
    void retire(Node* node) {
      record_.retired.push(node);
      // Twice as many as can be published, so that each look frees at least half of them.
      const std::size_t enough =
          explored<Platform> ? 1 : 2 * protected_slots * domain_.records_.size();
      if (record_.retired.size() >= enough) reclaim();
    }

   private:
    friend class guard;

    void reclaim() {
      Platform::fence(std::memory_order_seq_cst);  // The right column.
      auto& published = record_.published;
      published.clear();
      domain_.records_.for_each([&](const record& other) {
        for (const auto& hazard : other.hazards) {
          // [left] acquire ← release where a hazard is stored: whoever has gone on to another node
          // has read this one before it is freed.
          if (Node* node = hazard.load(std::memory_order_acquire)) published.push_back(node);
        }
      });
      std::sort(published.begin(), published.end());
      record_.retired.free_unless([&](const Node* node) {
        return std::binary_search(published.begin(), published.end(), node);
      });
    }

    domain& domain_;
    record& record_;
  };

  class guard {
   public:
    explicit guard(participant& participant) : record_(participant.record_) {}
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

    /// The node to which `source` points, which must be null or not yet retired. The load acquires.
    Node* protect(std::size_t slot, const atomic<Node*>& source) const {
      atomic<Node*>& hazard = record_.hazards[slot];
      Node* node = source.load(std::memory_order_acquire);
      // relaxed: this thread's own. A node that it has published and seen in its place since cannot
      // have been freed, so there is nothing to do when it is the same.
      while (hazard.load(std::memory_order_relaxed) != node) {
        hazard.store(node, std::memory_order_release);  // [left] release → acquire in reclaim.
        Platform::fence(std::memory_order_seq_cst);     // The left column.
        node = source.load(std::memory_order_acquire);
      }
      return node;
    }

   private:
    record& record_;
  };

 private:
  participant_list<record, Platform> records_;
};

}  // namespace heddle
