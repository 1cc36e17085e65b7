#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <explore/scheduler.hpp>
#include <explore/store_history.hpp>
#include <explore/trace.hpp>

namespace heddle::explore {

/// Base of a client's atomic, cell or mutex. It stays readable after its end, since memory that the
/// client frees is kept until its execution is over; see quarantine.hpp.
struct tracked {
  static constexpr std::uint32_t alive = 0x600d0b1e;
  static constexpr std::uint32_t ended = 0xdead0b1e;

  std::uint32_t state = alive;
  std::uint32_t execution = 0;
  std::uint32_t index = 0;
};

/// A new value from the one read and the operation's argument.
using combination = std::uint64_t (*)(std::uint64_t read, std::uint64_t argument);

/// What the client's operations do.
class engine : public scheduler {
 public:
  using scheduler::scheduler;

  void construct(tracked& object, char letter, value_kind kind, std::source_location where) {
    if (used_ == locations_.size()) locations_.emplace_back();
    object.index = static_cast<std::uint32_t>(used_++);
    object.execution = execution_;
    location& made = locations_[object.index];
    made.alive = true;
    made.kind = kind;
    made.letter = letter;
    made.name = ++names_[static_cast<unsigned char>(letter)];
    made.constructed_where = where;
    made.constructed_by = running();
    self().clocks.tick();
    // 0: what stands for a plain object, or is the kernel's, may be used by whoever finds it.
    made.constructed_at = letter == 'r' || letter == 'f' ? 0 : self().clocks.time();
    made.write_stamp = made.access_stamp = ++stamp_;
    made.last_accesses.fill(0);
    made.last_accesses[running()] = made.constructed_at;
    made.holder = made.unlocked_by = -1;
    made.permits = letter == 'm' ? 1 : 0;
    made.released = {};
    // Of whatever an earlier execution had at this place, which may have been an atomic.
    made.order.clear();
    made.reads.clear();
    count_step();
  }

  void initialise(const tracked& object, std::uint64_t value) {
    location& made = locations_[object.index];
    history_.initialise(made, self().clocks, value, stamp_, step());
    note([&] { return show(made) + " is made with " + traced_->show(value, made.kind); },
         made.constructed_where);
  }

  void destroy(tracked& object) {
    if (object.execution != execution_) return;  // left over from an execution that was given up
    const std::source_location nowhere{};
    if (object.state != tracked::alive) fail("something is destroyed twice", nowhere);
    object.state = tracked::ended;
    location& ended = locations_[object.index];
    const int other = ended.unordered_access(self().clocks.now);
    if (other >= 0) {
      fail(show(ended) + " is destroyed, and thread " + std::to_string(other) +
               "'s last access does not happen before that",
           ended.constructed_where);
    }
    if (ended.holder >= 0) fail(show(ended) + " is destroyed while locked", nowhere);
    ended.alive = false;
    count_step();
    note([&] { return show(ended) + " is destroyed"; }, ended.constructed_where);
  }

  /// An operation on an atomic. Returns what it read and whether it wrote.
  std::pair<std::uint64_t, bool> operate(const tracked& object, const access& wanted,
                                         combination combine, std::uint64_t argument,
                                         const char* name, std::source_location code) {
    check(object, code);
    const action next = !wanted.reads    ? action::store
                        : !wanted.writes ? action::load
                                         : action::update;
    before(next, object.index);
    check(object, code);
    if (history_.order_is_full()) cut();
    location& where = locations_[object.index];
    model_thread& thread = self();
    history_.candidates(where, thread.clocks, wanted, thread.fresh, found_);
    if (found_.empty()) {
      give_up_as_redundant();  // it could only read what it has read from here before
      history_.candidates(where, thread.clocks, wanted, 0, found_);
    }
    const std::uint32_t position = found_[choose(static_cast<std::uint32_t>(found_.size()))];
    const std::uint32_t number = where.order[position];
    const std::uint64_t seen = history_.at(number).value;
    const bool writes = wanted.writes && (!wanted.conditional || seen == wanted.expected);
    const std::memory_order order = wanted.conditional && !writes ? wanted.failure : wanted.order;
    thread.clocks.tick();
    if (wanted.reads) history_.read(where, thread.clocks, position, order, writes);
    touch(where, writes);
    if (!writes) {
      note([&] { return tell(where, wanted, name, order, seen, seen, number, position); }, code);
      if (thread.trail.repeats(object.index, number, code.line() * 1024 + code.column())) {
        await_write();
      }
      return {seen, false};
    }
    const std::uint64_t written = combine(seen, argument);
    note([&] { return tell(where, wanted, name, order, seen, written, number, position); }, code);
    history_.write(where, thread.clocks, position, order, written, wanted.reads, stamp_, step());
    return {seen, true};
  }

  void fence(std::memory_order order, std::source_location code) {
    if (order == std::memory_order_relaxed) return;
    before(action::fence, 0);
    if (history_.order_is_full()) cut();
    self().clocks.tick();
    history_.fence(self().clocks, order, locations_, used_);
    note([&] { return std::string("fence (") + name_of(order) + ")"; }, code);
  }

  void pause(std::source_location code) {
    note([] { return std::string("waits for a write of another"); }, code);
    await_write();
  }

  void read_cell(const tracked& object, std::source_location code) {
    location& where = use_cell(object, code);
    if (!self().clocks.now.knows(where.written_by, where.written_at)) {
      race(where, static_cast<int>(where.written_by), code);
    }
    touch(where, false);
    note([&] { return "reads " + show(where) + from(where.written_in_step); }, code);
  }

  void write_cell(const tracked& object, std::source_location code) {
    location& where = use_cell(object, code);
    const int other = where.unordered_access(self().clocks.before);
    if (other >= 0) race(where, other, code);
    touch(where, true);
    where.written_by = running();
    where.written_at = self().clocks.time();
    where.written_in_step = step();
    note([&] { return "writes " + show(where); }, code);
  }

  /// Number of the execution under way.
  std::uint32_t execution() const noexcept { return execution_; }

  void require(bool holds, const char* what, std::source_location code) {
    if (!holds) fail(std::string("required: ") + what, code);
  }

  [[noreturn]] void fail(const std::string& what, std::source_location code) {
    if (free_) leave(ending::given_up);  // it no longer counts
    failed_ = what;
    if (code.line() != 0) {
      failed_ += std::string(" (") + code.file_name() + ":" + std::to_string(code.line()) + ")";
    }
    note([&] { return "FAILED: " + what; }, code);
    leave(ending::failed);
  }

 protected:
  void begin_execution() {
    ++execution_;
    used_ = 0;
    names_.fill(0);
    history_.clear();
  }

  /// Errors that only the end of an execution shows. For the thread that runs the client, when all
  /// others have finished.
  void check_leaks() {
    std::size_t left = 0;
    const location* first = nullptr;
    for (std::size_t index = 0; index < used_; ++index) {
      if (!locations_[index].alive || locations_[index].letter == 'r') continue;
      if (left++ == 0) first = &locations_[index];
    }
    if (left == 0) return;
    fail("leak: " + std::to_string(left) + " atomics, cells or mutexes are not destroyed; the " +
             "first is " + show(*first),
         first->constructed_where);
  }

  const location& location_at(std::uint32_t index) const final { return locations_[index]; }

  template <class Text>
  void note(Text text, std::source_location code) {
    if (traced_ != nullptr) traced_->add(step(), running(), text(), code);
  }

  std::uint32_t step() const noexcept { return static_cast<std::uint32_t>(steps_); }

  void check(const tracked& object, std::source_location code) {
    if (object.state == tracked::ended) fail("use of something that was destroyed", code);
    if (object.state != tracked::alive) fail("use of something that was never made", code);
    if (object.execution != execution_) fail("use of something made outside the client", code);
    const location& where = locations_[object.index];
    if (!where.may_be_used(self().clocks.now)) {
      fail("uninitialised read: the construction of " + show(where) + " by thread " +
               std::to_string(where.constructed_by) + " does not happen before this use",
           code);
    }
  }

  /// After a step on a location: who depends on it is woken.
  void touch(location& where, bool writes) {
    where.access_stamp = ++stamp_;
    where.last_accesses[running()] = self().clocks.time();
    if (!writes) return;
    where.write_stamp = stamp_;
    self().trail.clear();
    note_write();
  }

  location& at(const tracked& object) noexcept { return locations_[object.index]; }

  std::string failed_;
  trace* traced_ = nullptr;

 private:
  static std::string from(std::uint32_t step) { return " from #" + std::to_string(step); }

  location& use_cell(const tracked& object, std::source_location code) {
    check(object, code);
    count_step();
    self().clocks.tick();
    return locations_[object.index];
  }

  [[noreturn]] void race(const location& where, int other, std::source_location code) {
    fail("data race on " + show(where) + " with thread " + std::to_string(other), code);
  }

  std::string tell(const location& where, const access& wanted, const char* name,
                   std::memory_order order, std::uint64_t seen, std::uint64_t written,
                   std::uint32_t number, std::uint32_t position) const {
    std::string text = std::string(name) + " " + show(where);
    if (wanted.conditional) text += seen == wanted.expected ? " succeeds" : " fails";
    text += wanted.reads ? ": " + traced_->show(seen, where.kind) : "";
    if (!wanted.reads) {
      text += " = " + traced_->show(written, where.kind);
    } else if (wanted.writes && (!wanted.conditional || seen == wanted.expected)) {
      text += " -> " + traced_->show(written, where.kind);
    }
    text += std::string(" (") + name_of(order) + ")";
    if (wanted.reads) text += from(history_.at(number).step);
    if (position + 1 < where.order.size()) {
      text += wanted.writes && !wanted.conditional ? ", before" : ", not";
      text += " #" + std::to_string(history_.at(where.order[position + 1]).step);
    }
    return text;
  }

  store_history history_{options_.model};
  std::vector<location> locations_;
  std::size_t used_ = 0;
  std::uint32_t execution_ = 0;
  std::array<std::uint32_t, 128> names_{};
  std::vector<std::uint32_t> found_;
};

}  // namespace heddle::explore
