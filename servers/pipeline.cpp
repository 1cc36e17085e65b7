#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "answer_reads.hpp"
#include "application.hpp"
#include "channel.hpp"
#include <heddle/fibers/spawn.hpp>
#include <heddle/sync/semaphore.hpp>

namespace heddle::servers {
namespace {

constexpr parameter parameters[] = {
    {"hops", "fibers that a request passes, one after the other", 4, 1, 64},
};

/// Each request passes the stages of one of as many lanes as there are workers, in order; the last
/// stage lets the connection answer: what waking a fiber for one item costs. Once stopped, it
/// answers what has entered a lane and nothing more.
class pipeline_service final : public service {
 public:
  pipeline_service(const parameter_values& values, unsigned workers) {
    for (unsigned i = 0; i < workers; ++i) {
      lane& added = lanes_.emplace_back();
      for (std::uint32_t k = 0; k < values.number("hops"); ++k)
        added.push_back(std::make_unique<stage_input>());
    }
  }

  void start() override {
    for (lane& one : lanes_) {
      for (std::size_t i = 0; i + 1 < one.size(); ++i)
        spawn(pass_on, one[i].get(), one[i + 1].get());
      spawn(finish, one.back().get());
    }
  }

  void serve(socket peer) override {
    // Relaxed: only the number matters.
    const std::uint64_t number = connections_.fetch_add(1, std::memory_order_relaxed);
    stage_input& entrance = *lanes_[number % lanes_.size()].front();
    semaphore done(0);
    answer_reads(peer, deadline::never(), [&] {
      if (!entrance.send(&done)) return false;
      done.acquire();
      return true;
    });
  }

  void stop() noexcept override {
    for (lane& one : lanes_) one.front()->close();
  }

 private:
  /// A request is what its connection waits for.
  using stage_input = channel<semaphore*>;
  using lane = std::vector<std::unique_ptr<stage_input>>;

  static void pass_on(stage_input* from, stage_input* to) {
    while (const std::optional<semaphore*> request = from->receive()) to->send(*request);
    to->close();
  }

  static void finish(stage_input* from) {
    while (const std::optional<semaphore*> request = from->receive()) (*request)->release();
  }

  std::vector<lane> lanes_;
  std::atomic<std::uint64_t> connections_{0};
};

}  // namespace

extern const application pipeline{"pipeline", parameters, make_service<pipeline_service>};

}  // namespace heddle::servers
