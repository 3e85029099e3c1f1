// Calls that fail and waits that are left out, by number.
#pragma once

#include <cstdint>

namespace fake_cuda {

struct Faults {
  std::int64_t calls = 0;          // since set()
  std::int64_t until_failure = 0;  // 0: none
  bool sticky = false, failed = false;
  std::int64_t until_ignored_wait = 0;

  // Counts one call: does it fail?
  bool fires() {
    ++calls;
    if (failed && sticky) return true;
    if (until_failure == 0 || --until_failure > 0) return false;
    return failed = true;
  }
  bool ignores_wait() { return until_ignored_wait > 0 && --until_ignored_wait == 0; }
};

}  // namespace fake_cuda
