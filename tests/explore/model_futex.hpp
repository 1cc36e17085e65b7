#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include <explore/model_atomic.hpp>

namespace heddle::explore {

/// What sleeps on words of the model, in the order of its falling asleep. A look at a word and the
/// falling asleep are one step, and so are a notification and the step before it. A woken thread
/// has seen what its waker had done, which a futex does not promise; who loads the word again, as
/// all must, meets the order that is asked of that load when it need not sleep.
class futexes {
 public:
  static void wait(const model_atomic<std::uint32_t>& word, std::uint32_t expected, code where) {
    // As an update, since it sees the newest value; it changes nothing.
    auto& changed = const_cast<model_atomic<std::uint32_t>&>(word);
    if (changed.fetch_add(0U, std::memory_order_relaxed, where) != expected) return;
    event bell(borrowed{}, where);
    all().push_back({&word, &bell, explorer::current().execution()});
    bell.wait(where);
  }

  static void notify(const void* word, std::size_t most, code where) {
    std::vector<sleeper>& sleepers = all();
    const std::uint32_t execution = explorer::current().execution();
    std::erase_if(sleepers, [&](const sleeper& one) { return one.execution != execution; });
    for (std::size_t index = 0; index < sleepers.size() && most > 0;) {
      if (sleepers[index].word != word) {
        ++index;
        continue;
      }
      event* const bell = sleepers[index].bell;
      sleepers.erase(sleepers.begin() + static_cast<std::ptrdiff_t>(index));
      bell->wake(where);
      --most;
    }
  }

 private:
  struct sleeper {
    const void* word;
    event* bell;
    std::uint32_t execution;  ///< one that was given up leaves its sleepers behind
  };

  static std::vector<sleeper>& all() {
    static std::vector<sleeper> sleepers;
    return sleepers;
  }
};

/// std::atomic_ref: the atomic that stands for a plain object during one execution, made at the
/// first use. The plain object keeps its value; nobody may use it in another way meanwhile.
template <class T>
class model_atomic_ref {
 public:
  explicit model_atomic_ref(T& object, code where = code::current())
      : atomic_(find(object, where)) {}

  T load(std::memory_order order, code where = code::current()) const noexcept {
    return atomic_.load(order, where);
  }
  void store(T value, std::memory_order order, code where = code::current()) const noexcept {
    atomic_.store(value, order, where);
  }
  T exchange(T value, std::memory_order order, code where = code::current()) const noexcept {
    return atomic_.exchange(value, order, where);
  }

 private:
  static model_atomic<T>& find(T& object, code where) {
    static std::map<const T*, std::unique_ptr<model_atomic<T>>> all;
    static std::uint32_t execution = 0;
    if (execution != explorer::current().execution()) {
      all.clear();
      execution = explorer::current().execution();
    }
    std::unique_ptr<model_atomic<T>>& found = all[&object];
    if (!found) found = std::make_unique<model_atomic<T>>(object, borrowed{}, where);
    return *found;
  }

  model_atomic<T>& atomic_;
};

}  // namespace heddle::explore
