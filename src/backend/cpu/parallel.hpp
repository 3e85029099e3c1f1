// Splits a range over the caller's OpenMP team. Starting a team costs microseconds, so small work
// stays with the caller.
#pragma once

#include <omp.h>

#include <cstdint>

namespace pipetrain::cpu {

constexpr std::int64_t kWorkWorthATeam = 64 * 1024;  // multiply-adds
constexpr std::int64_t kElementWork = 4;             // of an element that is read and written once

// Calls body(begin, end) for parts of [0, count); `work` is that of the whole range, in
// multiply-adds. The body must not throw.
template <class Body>
void parallel_ranges(std::int64_t count, std::int64_t work, Body body) {
  const int team = omp_get_max_threads();
  if (team <= 1 || count <= 1 || work < kWorkWorthATeam) {
    body(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel num_threads(team)
  {
    const std::int64_t threads = omp_get_num_threads(), thread = omp_get_thread_num();
    const std::int64_t begin = count * thread / threads, end = count * (thread + 1) / threads;
    if (begin < end) body(begin, end);
  }
}

// The same, one index at a time.
template <class Body>
void parallel_each(std::int64_t count, std::int64_t work, Body body) {
  parallel_ranges(count, work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

}  // namespace pipetrain::cpu
