#pragma once

#include <cerrno>
#include <cstddef>
#include <memory>
#include <string_view>
#include <system_error>

#include <liburing.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace peers {

/// liburing reports an error by a negative number. Throws std::system_error of it, with `what`.
inline int ring_checked(int result, const char* what) {
  if (result < 0) throw std::system_error(-result, std::generic_category(), what);
  return result;
}

/// A ring that one thread uses; which thread is decided by enable().
class ring {
 public:
  static constexpr unsigned submission_entries = 2048;
  static constexpr unsigned completion_entries = 16384;

  ring() {
    io_uring_params parameters{};
    parameters.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                       IORING_SETUP_R_DISABLED | IORING_SETUP_CQSIZE;
    parameters.cq_entries = completion_entries;
    ring_checked(io_uring_queue_init_params(submission_entries, &ring_, &parameters),
                 "io_uring with DEFER_TASKRUN (Linux 6.1)");
  }
  ring(const ring&) = delete;
  ring& operator=(const ring&) = delete;
  ~ring() { io_uring_queue_exit(&ring_); }

  io_uring* get() { return &ring_; }

  /// From here on only the calling thread may submit. By its number, since Debian 12's liburing
  /// declares io_uring_enable_rings but does not export it.
  void enable() {
    const long enabled =
        ::syscall(__NR_io_uring_register, ring_.ring_fd, IORING_REGISTER_ENABLE_RINGS, nullptr, 0);
    if (enabled < 0) throw std::system_error(errno, std::generic_category(), "io_uring_register");
    io_uring_register_ring_fd(&ring_);  // saves a look-up a call; without it all works, too
  }

  /// An entry to fill in; what is queued goes to the kernel if there is no other.
  io_uring_sqe* entry() {
    reserve(1);
    return io_uring_get_sqe(&ring_);
  }

  /// The next `entries` go to the kernel together, as those that are linked must.
  void reserve(unsigned entries) {
    while (io_uring_sq_space_left(&ring_) < entries) submit();
  }

  /// Submits what is queued and waits until something has completed.
  void submit_and_wait() { check_submitted(io_uring_submit_and_wait(&ring_, 1)); }

  /// Calls `complete` for all that has completed, also for what did not fit the ring.
  template <class Complete>
  void for_each_completion(Complete complete) {
    for (;;) {
      unsigned head = 0;
      unsigned seen = 0;
      io_uring_cqe* completion = nullptr;
      io_uring_for_each_cqe(&ring_, head, completion) {
        ++seen;
        complete(*completion);
      }
      io_uring_cq_advance(&ring_, seen);
      if (!io_uring_cq_has_overflow(&ring_)) return;
      ring_checked(io_uring_get_events(&ring_), "io_uring_get_events");
    }
  }

 private:
  void submit() { check_submitted(io_uring_submit(&ring_)); }

  /// What passes by itself is no failure: the entries stay queued.
  static void check_submitted(int result) {
    if (result != -EINTR && result != -EBUSY && result != -EAGAIN)
      ring_checked(result, "io_uring_enter");
  }

  io_uring ring_;
};

/// Buffers that the kernel takes from as it receives; must outlive the ring.
class provided_buffers {
 public:
  static constexpr unsigned count = 1024;
  static constexpr unsigned short group = 0;

  explicit provided_buffers(std::size_t buffer_bytes)
      : buffer_bytes_(buffer_bytes), memory_(new char[count * buffer_bytes]) {
    void* const pages =
        ::mmap(nullptr, list_bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
    if (pages == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    list_ = static_cast<io_uring_buf_ring*>(pages);
    io_uring_buf_ring_init(list_);
    for (unsigned id = 0; id < count; ++id) give_back(static_cast<unsigned short>(id));
    publish();
  }
  provided_buffers(const provided_buffers&) = delete;
  provided_buffers& operator=(const provided_buffers&) = delete;
  ~provided_buffers() { ::munmap(list_, list_bytes); }

  void register_with(ring& ring) {
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<__u64>(list_);
    registration.ring_entries = count;
    registration.bgid = group;
    ring_checked(io_uring_register_buf_ring(ring.get(), &registration, 0),
                 "io_uring_register_buf_ring");
  }

  /// The buffer that a receive filled.
  std::string_view data(const io_uring_cqe& completion) const {
    return {memory_.get() + id_of(completion) * buffer_bytes_,
            static_cast<std::size_t>(completion.res)};
  }

  static unsigned short id_of(const io_uring_cqe& completion) {
    return static_cast<unsigned short>(completion.flags >> IORING_CQE_BUFFER_SHIFT);
  }

  /// The kernel gets the buffer with the next publish().
  void give_back(unsigned short id) {
    io_uring_buf_ring_add(list_, memory_.get() + id * buffer_bytes_,
                          static_cast<unsigned>(buffer_bytes_), id, io_uring_buf_ring_mask(count),
                          given_back_++);
  }

  void publish() {
    if (given_back_ != 0) io_uring_buf_ring_advance(list_, given_back_);
    given_back_ = 0;
  }

 private:
  static constexpr std::size_t list_bytes = count * sizeof(io_uring_buf);

  std::size_t buffer_bytes_;
  std::unique_ptr<char[]> memory_;
  io_uring_buf_ring* list_ = nullptr;
  int given_back_ = 0;
};

}  // namespace peers
