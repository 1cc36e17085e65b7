#include <mutex>

#include "answer_reads.hpp"
#include "application.hpp"
#include "spin.hpp"
#include <heddle/sync/condition_variable.hpp>
#include <heddle/sync/mutex.hpp>

namespace heddle::servers {
namespace {

constexpr std::string_view modes[] = {"mutex", "condition"};
constexpr parameter parameters[] = {
    {"mode", "what requests take turns with", 0, 0, 0, modes},
    {"hold_ns", "how long a request spins in its turn, ns", 100, 0, 1'000'000'000},
};

/// All requests take turns, under one mutex, or while a flag says so that one condition variable
/// guards: what handing over costs.
class contended_service final : public service {
 public:
  contended_service(const parameter_values& values, unsigned)
      : by_condition_(values.word("mode") == "condition"), hold_ns_(values.number("hold_ns")) {}

  void serve(socket peer) override {
    answer_reads(peer, deadline::never(), [this] {
      by_condition_ ? hold_flag() : hold_mutex();
      return true;
    });
  }

 private:
  void hold_mutex() {
    std::lock_guard guard(mutex_);
    spin(hold_ns_);
  }

  void hold_flag() {
    {
      std::unique_lock lock(mutex_);
      free_.wait(lock, [this] { return !busy_; });
      busy_ = true;
    }
    spin(hold_ns_);
    {
      std::lock_guard guard(mutex_);
      busy_ = false;
    }
    free_.notify_one();
  }

  const bool by_condition_;
  const std::uint64_t hold_ns_;
  mutex mutex_;
  condition_variable free_;
  bool busy_ = false;  // guarded by mutex_
};

}  // namespace

extern const application contended{"contended", parameters, make_service<contended_service>};

}  // namespace heddle::servers
