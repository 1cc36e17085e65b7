#pragma once

#include <explore/protocol_mutants.hpp>

#include "mutant.hpp"

namespace heddle::mutants {

/// The idle protocol of src/schedulers/idle.hpp in the small runtime of the explorer's own tests.
struct one_item_for_a_worker {
  static constexpr char text[] = "1 worker; push ∥ work";

  template <class Runtime>
  static void run() {
    Runtime runtime(1, 1);
    explore::thread worker([&] { runtime.work(0); });
    runtime.push();
  }
};

template <class Mutated>
mutant idle_mutant(std::string name, std::string bug, bool weak) {
  using client = one_item_for_a_worker;
  using correct = explore::small_runtime<explore::model>;
  return {.name = std::move(name),
          .bug = std::move(bug),
          .client = client::text,
          .weak = weak,
          .correct = {{"the protocol", &client::run<correct>, nullptr}},
          .mutated = program{"mutant", &client::run<Mutated>, nullptr}};
}

}  // namespace heddle::mutants
