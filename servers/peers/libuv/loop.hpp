#pragma once

#include <system_error>

#include <uv.h>

namespace peers {

/// Throws std::system_error, with `what`, if a libuv call failed.
inline void uv_checked(int status, const char* what) {
  if (status < 0) throw std::system_error(-status, std::generic_category(), what);
}

/// Owns an event loop. Closes what is still open in it when it goes, with `on_closed` called for
/// each handle.
class uv_event_loop {
 public:
  explicit uv_event_loop(uv_close_cb on_closed) : on_closed_(on_closed) {
    uv_checked(uv_loop_init(&loop_), "uv_loop_init");
  }
  uv_event_loop(const uv_event_loop&) = delete;
  uv_event_loop& operator=(const uv_event_loop&) = delete;
  ~uv_event_loop() {
    const auto close = [](uv_handle_t* handle, void* on_closed) {
      if (!uv_is_closing(handle)) uv_close(handle, *static_cast<uv_close_cb*>(on_closed));
    };
    uv_walk(&loop_, close, &on_closed_);
    uv_run(&loop_, UV_RUN_DEFAULT);  // until the last handle is closed
    uv_loop_close(&loop_);
  }

  uv_loop_t* get() { return &loop_; }

 private:
  uv_loop_t loop_;
  uv_close_cb on_closed_;
};

}  // namespace peers
