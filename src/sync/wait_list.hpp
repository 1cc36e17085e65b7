#pragma once

#include <heddle/sync/parker.hpp>

namespace heddle {

/// Those who wait for a primitive, in order. Its places lie in their frames.
///
/// Threads: one at a time; the primitive's lock guards the list, links of its places included. A
/// waiter whose time came first takes that lock and calls remove() before it leaves: therefore
/// whoever holds the lock may touch every place in the list.
template <class Platform, class Parker>
class wait_list {
 public:
  class place : public Parker {
   private:
    friend wait_list;
    typename Platform::template cell<place*> next_;
    typename Platform::template cell<place*> previous_;
    typename Platform::template cell<bool> listed_;
  };

  /// Places that were claimed, to be woken when no lock is held.
  class claimed {
   public:
    void push(place& added) noexcept {
      added.next_.store(nullptr);
      (last_ != nullptr ? last_->next_.store(&added) : void(first_ = &added));
      last_ = &added;
    }

    /// In the order of push. Each place is gone once it is woken.
    void wake_all() noexcept {
      for (place* at = first_; at != nullptr;) {
        place* const next = at->next_.load();
        at->wake();
        at = next;
      }
    }

   private:
    place* first_ = nullptr;
    place* last_ = nullptr;
  };

  bool empty() const noexcept { return first_.load() == nullptr; }

  void push_back(place& added) noexcept { insert(added, last_.load(), nullptr); }
  void push_front(place& added) noexcept { insert(added, nullptr, first_.load()); }

  /// Does nothing with a place that is not listed.
  void remove(place& removed) noexcept {
    if (!removed.listed_.load()) return;
    removed.listed_.store(false);
    place* const next = removed.next_.load();
    place* const previous = removed.previous_.load();
    (previous != nullptr ? previous->next_ : first_).store(next);
    (next != nullptr ? next->previous_ : last_).store(previous);
  }

  /// Removes the first whose time has not come first, claims it and answers it, to be woken when no
  /// lock is held; nullptr when there is none. Those before it are removed too: they are on their
  /// way out.
  place* claim_first() noexcept {
    while (place* const first = first_.load()) {
      remove(*first);
      if (first->claim()) return first;
    }
    return nullptr;
  }

 private:
  void insert(place& added, place* previous, place* next) noexcept {
    added.listed_.store(true);
    added.previous_.store(previous);
    added.next_.store(next);
    (previous != nullptr ? previous->next_ : first_).store(&added);
    (next != nullptr ? next->previous_ : last_).store(&added);
  }

  typename Platform::template cell<place*> first_;
  typename Platform::template cell<place*> last_;
};

}  // namespace heddle
