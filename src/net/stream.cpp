#include <cerrno>

#include <fcntl.h>

#include <heddle/fibers/worker.hpp>
#include <heddle/net/stream.hpp>
#include <heddle/runtime_base.hpp>

namespace heddle {

int stream_base::perform(operation& operation, const char* name, deadline limit) {
  worker* self = &require_worker(name);
  if (self->turn_is_over()) {
    self->yield();
    self = current_worker();
  }
  descriptor& target = operation.target;
  runtime_base& runtime = self->runtime();
  target.user.store(&runtime, std::memory_order_relaxed);
  if (operation.kind == operation_kind::receive && target.flow.is_armed() &&
      target.flow.user() != &runtime) {
    // Another runtime's ring receives, so that what comes would pass this one by.
    runtime_base::end_flow({target, operation.generation});
    while (target.flow.is_armed()) {
      self->yield();
      self = current_worker();
    }
  }
  return self->perform(operation, limit);
}

int stream_base::native_handle() const noexcept {
  const file_reference open = file();
  return open ? open.target().fd() : -1;
}

result<void> stream_base::close() noexcept {
  const file_reference closed(exchange({}));
  if (!closed) return std::errc::bad_file_descriptor;
  descriptor& target = closed.target();
  for (const direction which : {direction::read, direction::write}) {
    descriptor_side& side = target.side(which);
    if (side.close_unused(closed.generation()) || !runtime_base::close_under_way(closed, which))
      release(closed, which);
  }
  return {};
}

/// One operation on part of `memory`, as the calls answer.
template <operation_kind Read, operation_kind Write>
result<std::size_t> basic_stream<Read, Write>::transfer(operation_kind kind, const void* memory,
                                                        std::size_t bytes, const char* name,
                                                        deadline limit) {
  const file_reference used = file();
  if (!used) return std::errc::bad_file_descriptor;
  if (bytes == 0) return std::size_t{0};
  operation operation(kind, used, const_cast<void*>(memory), bytes);
  const int answer = perform(operation, name, limit);
  if (answer < 0) return system_error_code(-answer);
  return static_cast<std::size_t>(answer);
}

template <operation_kind Read, operation_kind Write>
result<std::size_t> basic_stream<Read, Write>::read(std::span<std::byte> buffer, deadline limit) {
  return transfer(Read, buffer.data(), buffer.size(), "read", limit);
}

template <operation_kind Read, operation_kind Write>
result<std::size_t> basic_stream<Read, Write>::write(std::span<const std::byte> data,
                                                     deadline limit) {
  return transfer(Write, data.data(), data.size(), "write", limit);
}

template <operation_kind Read, operation_kind Write>
result<void> basic_stream<Read, Write>::write_all(std::span<const std::byte> data, deadline limit) {
  while (!data.empty()) {
    const result<std::size_t> written = write(data, limit);
    if (!written) return written.error();
    data = data.subspan(*written);
    // One deadline for all steps: a duration counts from the first that waits.
    if (!data.empty()) limit.at_ns();
  }
  return {};
}

template class basic_stream<operation_kind::receive, operation_kind::send>;
template class basic_stream<operation_kind::read, operation_kind::write>;

result<stream> stream::adopt(int fd) {
  if (::fcntl(fd, F_GETFD) < 0) return system_error_code(errno);
  return stream(descriptor::open(fd));
}

}  // namespace heddle
