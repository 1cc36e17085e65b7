#pragma once

#include <cstddef>
#include <vector>

namespace heddle::load {

/// First in, first out, of a capacity fixed at construction; for one thread. The caller never
/// pushes more than that: each connection is in it at most once.
template <class Item>
class ring {
 public:
  explicit ring(std::size_t capacity) : items_(capacity) {}

  bool empty() const { return size_ == 0; }
  const Item& front() const { return items_[first_]; }

  void push(const Item& item) {
    std::size_t place = first_ + size_++;
    if (place >= items_.size()) place -= items_.size();
    items_[place] = item;
  }

  Item pop() {
    const Item item = items_[first_];
    if (++first_ == items_.size()) first_ = 0;
    --size_;
    return item;
  }

 private:
  std::vector<Item> items_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace heddle::load
