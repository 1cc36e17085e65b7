#include <algorithm>
#include <bit>
#include <cerrno>
#include <system_error>

#include <sys/mman.h>

#include <heddle/pollers/buffer_ring.hpp>

namespace heddle {

// At least 32 buffers: the list behind them must begin on a page.
buffer_ring::buffer_ring(unsigned most)
    : most_(std::bit_ceil(std::max(most, 32u))),
      mapped_bytes_(most_ * (buffer_bytes + sizeof(io_uring_buf))) {
  void* const mapped = ::mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED)
    throw std::system_error(errno, std::system_category(), "buffers of an io_uring");
  memory_ = static_cast<std::byte*>(mapped);
  list_ = reinterpret_cast<io_uring_buf_ring*>(memory_ + most_ * buffer_bytes);
  io_uring_buf_ring_init(list_);
  give_more();
}

buffer_ring::~buffer_ring() { ::munmap(memory_, mapped_bytes_); }

bool buffer_ring::register_with(io_uring& ring) noexcept {
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uintptr_t>(list_);
  registration.ring_entries = most_;
  registration.bgid = group;
  return io_uring_register_buf_ring(&ring, &registration, 0) == 0;
}

void buffer_ring::give_more() noexcept {
  const unsigned end = std::min(most_, given_ + given_at_once);
  while (given_ < end) give_back(static_cast<unsigned short>(given_++));
}

}  // namespace heddle
