#pragma once

#include <explore/litmus.hpp>

namespace heddle::explore::litmus {

/// P0668 ("Revising the C++ memory model"): C++20 gave up that a release sequence orders seq_cst
/// operations of others, so that 1, 3, 0 is possible.
inline outcome seq_cst_and_release_sequence() {
  variable x{0}, y{0};
  int updated = 0, seen_y = 0, seen_x = 0;
  {
    thread first([&] {
      x.store(1, seq_cst);
      y.store(1, release);
    });
    thread second([&] {
      updated = y.fetch_add(1, seq_cst);
      seen_y = y.load(relaxed);
    });
    thread third([&] {
      y.store(3, seq_cst);
      seen_x = x.load(seq_cst);
    });
  }
  return {updated, seen_y, seen_x};
}

/// seq_cst says nothing of the relaxed operations around it.
inline outcome message_passing_beside_seq_cst() {
  variable x{0}, flag{0};
  int seen_flag = 0, seen_x = 0;
  {
    thread writer([&] {
      x.store(1, seq_cst);
      flag.store(1, relaxed);
    });
    thread reader([&] {
      seen_flag = flag.load(relaxed);
      seen_x = x.load(seq_cst);
    });
  }
  return {seen_flag, seen_x};
}

}  // namespace heddle::explore::litmus
