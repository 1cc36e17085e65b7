#pragma once

#include <string_view>

#include "common/protocol.hpp"

namespace peers {

/// What one connection answers. `answer` returns the bytes to send for those just read, perhaps
/// none; they are valid until the next call, and no longer than the bytes read. `closes` says, once
/// they are sent, whether the connection is to close.
template <protocol>
class answers {
 public:
  std::string_view answer(std::string_view) const { return response; }
  bool closes() const { return false; }
};

template <>
class answers<protocol::echo> {
 public:
  std::string_view answer(std::string_view read) const { return read; }
  bool closes() const { return false; }
};

template <>
class answers<protocol::http_close> {
 public:
  std::string_view answer(std::string_view) const { return closing_response; }
  bool closes() const { return true; }
};

/// In json_answers.hpp, which needs heddle's parser.
template <>
class answers<protocol::json>;

}  // namespace peers
