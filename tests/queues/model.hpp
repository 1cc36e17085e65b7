#pragma once

#include <deque>

#include "queue_test.hpp"

// One thread's calls, checked against what the queue should hold.

namespace heddle::queue_test {

/// How often in a row a spurious answer may be given with no other thread around.
inline constexpr int most_false_answers = 1000;

/// What the queue should hold: one FIFO, or one for each producer when that is all it promises.
class model {
 public:
  explicit model(std::size_t producers) : fifos_(producers) {}

  std::size_t size() const {
    std::size_t sum = 0;
    for (const auto& fifo : fifos_) sum += fifo.size();
    return sum;
  }

  void push(test_item* item, std::size_t producer) { fifos_[key(producer)].push_back(item); }

  /// Removes what try_pop answered; false when it is not an item that may come next.
  bool pop(test_item* item) {
    if (!pops_newest) return steal(item);
    auto& items = fifos_.front();
    if (items.empty() || items.back() != item) return false;
    items.pop_back();
    return true;
  }

  /// Removes what a thief took; false when it is not an item that may come next.
  bool steal(test_item* item) {
    for (auto& fifo : fifos_) {
      if (fifo.empty()) continue;
      const auto last = traits.order == queue_order::relaxed ? fifo.end() : fifo.begin() + 1;
      const auto found = std::find(fifo.begin(), last, item);
      if (found != last) {
        fifo.erase(found);
        return true;
      }
    }
    return false;
  }

 private:
  static std::size_t key(std::size_t producer) {
    return traits.order == queue_order::fifo_per_producer ? producer : 0;
  }

  std::vector<std::deque<test_item*>> fifos_;
};

/// Whether a queue that holds `size` items, with room for more, may not say that it is full.
inline bool must_have_room(std::size_t size) { return traits.exact_capacity || size == 0; }

/// try_push, again while a spurious `full` may be false: that is, while there is room.
template <class Queue>
push_result push(Queue& queue, test_item* item, typename Queue::handle& handle, bool room) {
  push_result result = queue.try_push(item, handle);
  for (int again = 0; room && traits.full == truth::spurious && again < most_false_answers;
       ++again) {
    if (result == push_result::ok) break;
    result = queue.try_push(item, handle);
  }
  return result;
}

/// try_pop, again while a spurious `empty` may be false: that is, while there are items.
template <class Queue>
pop_result<test_item*> pop(Queue& queue, typename Queue::handle& handle, bool items) {
  pop_result<test_item*> result = queue.try_pop(handle);
  for (int again = 0; items && traits.empty == truth::spurious && again < most_false_answers;
       ++again) {
    if (result) break;
    result = queue.try_pop(handle);
  }
  return result;
}

/// Pops until the queue is empty. Returns the items in order.
template <class Queue>
std::vector<test_item*> drain(Queue& queue, typename Queue::handle& handle) {
  std::vector<test_item*> items;
  while (auto popped = pop(queue, handle, queue.maybe_nonempty())) items.push_back(popped.item);
  return items;
}

}  // namespace heddle::queue_test
