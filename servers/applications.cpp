#include "applications.hpp"

#include <stdexcept>
#include <string>

namespace heddle::servers {

extern const application hello;
extern const application hello_timeout;
extern const application echo;
extern const application json;
extern const application fanout;
extern const application pipeline;
extern const application imbalance;
extern const application contended;
extern const application sleepers;

std::span<const application* const> applications() noexcept {
  static constexpr const application* all[] = {
      &hello, &hello_timeout, &echo, &json, &fanout, &pipeline, &imbalance, &contended, &sleepers};
  return all;
}

const application& application_named(std::string_view name) {
  std::string allowed;
  for (const application* known : applications()) {
    if (known->name == name) return *known;
    allowed.append(allowed.empty() ? "" : ", ").append(known->name);
  }
  throw std::invalid_argument("application '" + std::string(name) +
                              "' is unknown; there are: " + allowed);
}

}  // namespace heddle::servers
