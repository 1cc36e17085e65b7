#include <mutex>
#include <utility>

#include <unistd.h>

#include <heddle/pollers/descriptor.hpp>

namespace heddle {
namespace {

std::mutex free_lock;
descriptor* free_descriptors = nullptr;  // guarded by free_lock

}  // namespace

// [all] release in open → acquire in for_each: a descriptor is complete before it is seen.
std::atomic<descriptor*> descriptor::all_{nullptr};

file_reference descriptor::open(int fd) {
  descriptor* opened;
  {
    std::lock_guard guard(free_lock);
    opened = free_descriptors;
    if (opened != nullptr) {
      free_descriptors = opened->next_free_;
    } else {
      opened = new descriptor;
      opened->next_of_all_ = all_.load(std::memory_order_relaxed);
      all_.store(opened, std::memory_order_release);
    }
  }
  opened->fd_ = fd;
  opened->nonblocking.store(false, std::memory_order_relaxed);
  opened->hung_up.store(false, std::memory_order_relaxed);
  opened->watched_by.store(0, std::memory_order_relaxed);
  opened->user.store(nullptr, std::memory_order_relaxed);
  opened->flow.reset();
  opened->holds_.store(2, std::memory_order_relaxed);
  for (descriptor_side& side : opened->sides_) side.open(opened->generation());
  return {*opened, opened->generation()};
}

void descriptor::release() noexcept {
  // [holds] acq_rel: the last to come sees all that the others did with the file.
  if (holds_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // From here on an event of this file is late.
  generation_.fetch_add(1, std::memory_order_relaxed);
  ::close(std::exchange(fd_, -1));
  std::lock_guard guard(free_lock);
  next_free_ = free_descriptors;
  free_descriptors = this;
}

}  // namespace heddle
