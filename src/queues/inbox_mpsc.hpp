#pragma once

#include <heddle/base/cache_line.hpp>
#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// Intrusive list of which one thread takes: no run queue, since nobody could take over what its
/// thread leaves behind, but what others send to one worker.
///
/// Source:   D. Vyukov, "Intrusive MPSC node-based queue", 1024cores.net, 2010.
/// Threads:  try_push any; try_pop one at a time.
/// Progress: push wait-free: an exchange and a store. Pop never waits, but a producer that stalls
///           between the two hides what was pushed behind its item: the answer is `contended`.
/// Capacity: none; try_push never answers full, never allocates.
/// Empty:    strict.
/// Errata:   the placeholder is queued again only when the last item leaves, so it is in the list
///           once at most; else it can be lost, or close a circle (stdexec#1812).
///
/// Synchronisation: [listed] lets a producer link behind the item before; [linked] carries items to
/// the consumer; [emptied] lets whoever sees the placeholder last see the end that led to it.
struct inbox_mpsc {
  static constexpr queue_traits traits{
      .pop = role::one,
      .steal = role::none,
      .push_progress = progress::wait_free,
      .pop_progress = progress::blocking,
      .element = element_kind::intrusive_link,
  };

  template <class T, class Platform>
  class type;
};

template <class T, class Platform>
class inbox_mpsc::type {
 public:
  using handle = stateless_handle;

  explicit type(const queue_options&) {}

  push_result try_push(T item, handle&) {
    append(item);
    return push_result::ok;
  }

  pop_result<T> try_pop(handle&) {
    // relaxed: only this thread writes first_.
    queue_hook* first = first_.load(std::memory_order_relaxed);
    queue_hook* next = next_of(first);
    if (first == &placeholder_) {
      // relaxed: a push that completed before has changed last_, here already.
      if (next == nullptr) {
        const bool alone = last_.load(std::memory_order_relaxed) == first;
        return {alone ? pop_status::empty : pop_status::contended};
      }
      // relaxed: [emptied] publishes it when it matters.
      first_.store(next, std::memory_order_relaxed);
      first = next;
      next = next_of(first);
    }
    if (next == nullptr) {
      // The item may be the last: it can leave when something else stands behind it. relaxed: when
      // it is not the last, [linked] tells of the next.
      if (last_.load(std::memory_order_relaxed) != first) return {pop_status::contended};
      append(&placeholder_);
      next = next_of(first);
      // A producer came between, and has not linked its item yet.
      if (next == nullptr) return {pop_status::contended};
    }
    first_.store(next, std::memory_order_relaxed);  // relaxed: as above.
    return {pop_status::item, static_cast<T>(first)};
  }

  /// A caller that must not miss an item stands after a seq_cst fence, as with every queue. Behind
  /// a placeholder that is last there is nothing; when it is then first too, all before it is gone.
  bool maybe_nonempty() const {
    // [emptied] acquire ← release in append, and last before first: the end that is read next is
    // not one from before the placeholder was queued. relaxed: no item is read.
    return last_.load(std::memory_order_acquire) != &placeholder_ ||
           first_.load(std::memory_order_relaxed) != &placeholder_;
  }

  /// 0 or 1: nobody counts.
  std::size_t approximate_size() const { return maybe_nonempty() ? 1 : 0; }
  std::size_t capacity() const { return 0; }

 private:
  using link = typename Platform::template atomic_ref<queue_hook*>;

  static queue_hook* next_of(queue_hook* item) {
    // [linked] acquire ← release in append.
    return link(item->next_queued).load(std::memory_order_acquire);
  }

  void append(queue_hook* item) {
    // relaxed: [listed] publishes it.
    link(item->next_queued).store(nullptr, std::memory_order_relaxed);
    // [listed] release → acquire here in the next producer: the link is emptied before it is set.
    // [emptied] release → acquire in maybe_nonempty, for the placeholder.
    queue_hook* const before = last_.exchange(item, std::memory_order_acq_rel);
    // [linked] release → acquire in try_pop.
    link(before->next_queued).store(item, std::memory_order_release);
  }

  // Written by producers.
  alignas(cache_line_bytes) typename Platform::template atomic<queue_hook*> last_{&placeholder_};
  // Written by the consumer; the placeholder's link also by producers.
  alignas(cache_line_bytes) typename Platform::template atomic<queue_hook*> first_{&placeholder_};
  queue_hook placeholder_;
};

static_assert(run_queue<inbox_mpsc::type<queue_hook*, native>, queue_hook*>);

}  // namespace heddle
