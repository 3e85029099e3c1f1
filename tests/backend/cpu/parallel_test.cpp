// Calls that a team shares out.
#include "backend/cpu/parallel.hpp"

#include <atomic>
#include <stdexcept>

#include "catch.hpp"

using namespace pipetrain::cpu;

TEST_CASE("what one call of a team throws is thrown once all have ended", "[parallel]") {
  const int threads = GENERATE(1, 2, 3);
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  std::atomic<int> ended = 0;
  const auto calls = [&](std::int64_t failing) {
    parallel_calls(100, 100 * kWorkWorthATeam, [&](std::int64_t i) {
      ++ended;
      if (i == failing) throw std::runtime_error("this one");
    });
  };
  CHECK_THROWS_WITH(calls(50), "this one");
  CHECK(ended == 100);
  ended = 0;
  CHECK_NOTHROW(calls(-1));  // a failure is not remembered
  CHECK(ended == 100);
  omp_set_num_threads(before);
}
