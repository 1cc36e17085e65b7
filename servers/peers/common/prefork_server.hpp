#pragma once

#include <memory>
#include <vector>

#include "common/listener.hpp"
#include "common/parameters.hpp"
#include "common/run_on_threads.hpp"

namespace peers {

/// A server of independent workers: one `Worker` a listener, each used by one thread only.
/// `Worker(file_descriptor listener)` prepares everything that can fail; `run()` serves until a
/// stop signal comes.
template <class Worker>
class prefork_server {
 public:
  static constexpr peer_kind kind = peer_kind::prefork;
  static constexpr bool no_delay = Worker::no_delay;

  using options = no_options;

  prefork_server(std::vector<file_descriptor> listeners, unsigned, const options&) {
    for (auto& listener : listeners) {
      workers_.push_back(std::make_unique<Worker>(std::move(listener)));
    }
  }

  void run() {
    run_on_threads(static_cast<unsigned>(workers_.size()),
                   [this](unsigned index) { workers_[index]->run(); });
  }

 private:
  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace peers
