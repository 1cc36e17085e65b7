#pragma once

#include <cstddef>

#include <heddle/pollers/ring.hpp>

namespace heddle {

/// Buffers that the kernel takes, one after another, as the armed receives of a ring get bytes.
/// Threads: the ring's.
///
/// Few are in circulation, so that they stay in the cache, until a burst has used them up.
class buffer_ring {
 public:
  static constexpr std::size_t buffer_bytes = 2048;
  static constexpr unsigned short group = 0;

  /// `most`: 1 to 32768 buffers, rounded up to a power of two, 32 at least.
  /// Errors: std::system_error without address space.
  explicit buffer_ring(unsigned most);
  ~buffer_ring();
  buffer_ring(const buffer_ring&) = delete;
  buffer_ring& operator=(const buffer_ring&) = delete;

  /// Gives them to a ring, which must be closed before they go. False: it will not have them.
  bool register_with(io_uring& ring) noexcept;

  const std::byte* at(unsigned short id) const noexcept { return memory_ + id * buffer_bytes; }

  /// What the buffer held has been read.
  void give_back(unsigned short id) noexcept {
    io_uring_buf_ring_add(list_, memory_ + id * buffer_bytes, buffer_bytes, id,
                          static_cast<int>(most_ - 1), 0);
    io_uring_buf_ring_advance(list_, 1);
  }

  /// A receive found no buffer.
  void give_more() noexcept;

 private:
  static constexpr unsigned given_at_once = 128;

  const unsigned most_;
  unsigned given_ = 0;
  const std::size_t mapped_bytes_;
  std::byte* memory_;
  io_uring_buf_ring* list_;  // the kernel's, behind the buffers
};

/// Prepares a receive that stays armed, on a ring with such buffers.
inline void prepare_armed_receive(io_uring_sqe& entry, int fd) noexcept {
  io_uring_prep_recv_multishot(&entry, fd, nullptr, 0, 0);
  entry.flags |= IOSQE_BUFFER_SELECT;
  entry.buf_group = buffer_ring::group;
}

}  // namespace heddle
