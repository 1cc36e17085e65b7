#pragma once

#include <string_view>

#include <heddle/net/socket.hpp>

namespace heddle::servers {

/// What a server does with one connection, in a fiber of its own.
struct application {
  std::string_view name;
  void (*serve)(socket peer);
};

void hello(socket peer);
void hello_timeout(socket peer);
void echo(socket peer);
void json(socket peer);

inline constexpr application applications[] = {
    {"hello", hello},
    {"hello-timeout", hello_timeout},
    {"echo", echo},
    {"json", json},
};

/// Errors: std::invalid_argument that lists what there is.
const application& application_named(std::string_view name);

}  // namespace heddle::servers
