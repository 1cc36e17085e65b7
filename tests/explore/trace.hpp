#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <source_location>
#include <string>
#include <vector>

#include <explore/location.hpp>

namespace heddle::explore {

inline const char* name_of(std::memory_order order) noexcept {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
      return "consume";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "?";
}

inline std::string show(const location& where) {
  return std::string(1, where.letter) + std::to_string(where.name);
}

/// The steps of one execution, recorded when a failure is run again to be shown.
class trace {
 public:
  void add(std::uint32_t step, unsigned thread, std::string text, std::source_location where) {
    lines_.push_back({step, thread, std::move(text), where});
  }

  /// A value. Addresses are numbered as they appear, since they differ from run to run.
  std::string show(std::uint64_t value, value_kind kind) {
    if (kind == value_kind::boolean) return value != 0 ? "true" : "false";
    if (kind == value_kind::address) {
      if (value == 0) return "nullptr";
      return "p" +
             std::to_string(addresses_.try_emplace(value, addresses_.size() + 1).first->second);
    }
    if (value >> 32 == 0) return std::to_string(value);
    // Words of two halves are easier to read as such; so are small negative numbers.
    const auto signed_value = static_cast<std::int64_t>(value);
    if (signed_value < 0 && signed_value > -1'000'000) return std::to_string(signed_value);
    return std::to_string(value >> 32) + ":" + std::to_string(value & 0xffff'ffff);
  }

  /// Threads in columns; behind them the line of code.
  std::string show() const {
    unsigned threads = 0;
    std::size_t width = 24;
    for (const line& one : lines_) {
      threads = std::max(threads, one.thread + 1);
      width = std::max(width, one.text.size() + 2);
    }
    width = std::min<std::size_t>(width, threads > 3 ? 34 : 44);
    std::string shown = pad("step", 6);
    for (unsigned thread = 0; thread < threads; ++thread) {
      shown += pad("thread " + std::to_string(thread), width);
    }
    shown += "source\n";
    for (const line& one : lines_) {
      shown += pad(one.step == 0 ? "" : std::to_string(one.step), 6);
      shown += std::string(one.thread * width, ' ') + pad(one.text, width);
      const std::size_t rest = (threads - one.thread - 1) * width;
      const std::size_t over = one.text.size() + 1 > width ? one.text.size() + 1 - width : 0;
      shown += std::string(rest > over ? rest - over : 0, ' ') + source(one.where) + "\n";
    }
    return shown;
  }

 private:
  struct line {
    std::uint32_t step;
    unsigned thread;
    std::string text;
    std::source_location where;
  };

  static std::string pad(std::string text, std::size_t width) {
    text.append(text.size() < width ? width - text.size() : 1, ' ');
    return text;
  }

  static std::string source(const std::source_location& where) {
    if (where.line() == 0) return "";
    static std::map<std::string, std::vector<std::string>> files;
    const auto [file, added] = files.try_emplace(where.file_name());
    if (added) {
      std::ifstream text(where.file_name());
      for (std::string one; std::getline(text, one);) file->second.push_back(one);
    }
    std::string name = where.file_name();
    name.erase(0, name.rfind('/') + 1);
    std::string shown = name + ":" + std::to_string(where.line());
    if (where.line() <= file->second.size()) {
      const std::string& code = file->second[where.line() - 1];
      const std::size_t start = code.find_first_not_of(' ');
      if (start != std::string::npos) shown += "  " + code.substr(start);
    }
    return shown;
  }

  std::vector<line> lines_;
  std::map<std::uint64_t, std::size_t> addresses_;
};

}  // namespace heddle::explore
