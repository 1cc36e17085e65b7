#pragma once

#include <cstddef>

#include <boost/context/detail/fcontext.hpp>

#if defined(HEDDLE_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(HEDDLE_TSAN)
#include <sanitizer/tsan_interface.h>
#endif

namespace heddle {

/// A suspended flow of control: a thread's own, or one on a stack of its own. Debian's Boost has no
/// sanitizer hooks, so the switch tells AddressSanitizer and ThreadSanitizer itself.
class context {
 public:
  using entry_point = void (*)(boost::context::detail::transfer_t);

  /// The calling thread's own flow; valid once something has switched away from it.
  context() = default;
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  /// Makes this the start of `entry` on the stack that ends below `top`. `bottom` is the lowest
  /// usable byte; bytes from `top` up stay untouched.
  void start(void* bottom, void* top, entry_point entry) noexcept {
    const std::size_t bytes =
        static_cast<std::size_t>(static_cast<char*>(top) - static_cast<char*>(bottom));
    continuation_ = boost::context::detail::make_fcontext(top, bytes, entry);
#if defined(HEDDLE_ASAN)
    bottom_ = bottom;
    bytes_ = bytes;
    fake_stack_ = nullptr;
#endif
#if defined(HEDDLE_TSAN)
    tsan_fiber_ = __tsan_create_fiber(0);
#endif
  }

  /// Saves the running flow in `from` and continues `to`; returns when something switches to
  /// `from`, perhaps on another thread.
  static void switch_to(context& from, context& to) noexcept {
    before_switch(from, to, false);
    arrived(boost::context::detail::jump_fcontext(to.continuation_, &from));
    after_switch(from);
  }

  /// Ends the running flow `from` for good and continues `to`. `from` must be destroyed there.
  [[noreturn]] static void finish(context& from, context& to) noexcept {
    before_switch(from, to, true);
    boost::context::detail::jump_fcontext(to.continuation_, &from);
    __builtin_unreachable();
  }

  /// First call in an entry point, with the transfer it was given and its own context.
  static void entered(boost::context::detail::transfer_t transfer, context& self) noexcept {
    arrived(transfer);
    after_switch(self);
  }

  /// First statement of an entry point: who unwinds the stack, a debugger above all, ends here.
  /// Below lies only what made the context.
  [[gnu::always_inline]] static void mark_outermost_frame() noexcept {
#if defined(__x86_64__)
    asm volatile(".cfi_undefined rip");
#elif defined(__aarch64__)
    asm volatile(".cfi_undefined x30");
#endif
  }

  /// Frees what a sanitizer keeps for a flow that has finished.
  void destroy() noexcept {
#if defined(HEDDLE_TSAN)
    __tsan_destroy_fiber(tsan_fiber_);
#endif
  }

 private:
  static void arrived(boost::context::detail::transfer_t transfer) noexcept {
    static_cast<context*>(transfer.data)->continuation_ = transfer.fctx;
  }

  static void before_switch([[maybe_unused]] context& from, [[maybe_unused]] context& to,
                            [[maybe_unused]] bool last) noexcept {
#if defined(HEDDLE_ASAN)
    __sanitizer_start_switch_fiber(last ? nullptr : &from.fake_stack_, to.bottom_, to.bytes_);
    switched_from() = &from;
#endif
#if defined(HEDDLE_TSAN)
    from.tsan_fiber_ =
        __tsan_get_current_fiber();  // a worker's loop changes its thread from run to run
    __tsan_switch_to_fiber(to.tsan_fiber_, 0);
#endif
  }

  static void after_switch([[maybe_unused]] context& self) noexcept {
#if defined(HEDDLE_ASAN)
    // What was left is told here: this is how a thread's own stack becomes known.
    const void* bottom;
    std::size_t bytes;
    __sanitizer_finish_switch_fiber(self.fake_stack_, &bottom, &bytes);
    switched_from()->bottom_ = bottom;
    switched_from()->bytes_ = bytes;
#endif
  }

  boost::context::detail::fcontext_t continuation_ = nullptr;
#if defined(HEDDLE_ASAN)
  static context*& switched_from() noexcept;
  void* fake_stack_ = nullptr;
  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
#endif
#if defined(HEDDLE_TSAN)
  void* tsan_fiber_ = nullptr;
#endif
};

}  // namespace heddle
