#pragma once

namespace heddle {

/// A member of at most one list at a time; or, alone, the empty list itself. Leaving needs no list.
struct list_links {
  list_links* next = this;
  list_links* previous = this;

  list_links() = default;
  list_links(const list_links&) = delete;
  list_links& operator=(const list_links&) = delete;

  bool linked() const noexcept { return next != this; }

  void unlink() noexcept {
    next->previous = previous;
    previous->next = next;
    next = previous = this;
  }

  /// Makes `member`, which is in no list, the last of the list that `this` is.
  void append(list_links& member) noexcept {
    member.next = this;
    member.previous = previous;
    previous->next = &member;
    previous = &member;
  }
};

}  // namespace heddle
