// The vector loops of each instruction set that this machine has, and what their tests compare.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/loops/vector_loops.hpp"
#include "catch.hpp"

namespace pipetrain::cpu::testing {

inline std::vector<std::pair<std::string, const VectorLoops*>> loops_here() {
  std::vector<std::pair<std::string, const VectorLoops*>> found = {{"portable", &portable_loops()}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) found.emplace_back("avx2", &avx2_loops());
  if (__builtin_cpu_supports("avx512bw")) found.emplace_back("avx512", &avx512_loops());
#endif
  return found;
}

inline std::vector<float> numbers(std::int64_t count, float step) {
  std::vector<float> made(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = std::sin(step * static_cast<float>(i));
  return made;
}

inline void check_near(const std::vector<float>& found, const std::vector<double>& expected) {
  REQUIRE(found.size() == expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!(std::abs(static_cast<double>(found[i]) - expected[i]) < 1e-4)) ++wrong;
  CHECK(wrong == 0);
}

inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace pipetrain::cpu::testing
