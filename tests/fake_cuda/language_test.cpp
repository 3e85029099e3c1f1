// Device code that is wrong on a GPU must be wrong on tests/fake_cuda too.
#include "fake_cuda/language.hpp"

#include <set>
#include <stdexcept>
#include <vector>

#include "../catch.hpp"

namespace {

// Each thread's sum of its own and its neighbour's number; right only with a barrier between.
std::vector<int> sums_of_neighbours(unsigned seed, bool waits) {
  std::vector<int> sums(8);
  fake_cuda::shuffle_threads(seed);
  fake_cuda::run_grid("neighbours", 1, 8, [&] {
    __shared__ int shared[8];
    shared[threadIdx.x] = static_cast<int>(threadIdx.x + seed);  // not what was there before
    if (waits) __syncthreads();
    sums[threadIdx.x] = shared[threadIdx.x] + shared[(threadIdx.x + 1) % 8];
  });
  return sums;
}

}  // namespace

TEST_CASE("every thread of every block runs once", "[fake_cuda]") {
  std::multiset<std::pair<unsigned, unsigned>> seen;
  fake_cuda::run_grid("all", 3, 5, [&] {
    CHECK(gridDim.x == 3);
    CHECK(blockDim.x == 5);
    seen.insert({blockIdx.x, threadIdx.x});
    if (blockIdx.x == 1) __syncthreads();
    seen.insert({blockIdx.x, threadIdx.x});
  });
  CHECK(seen.size() == 30);
  CHECK(std::set(seen.begin(), seen.end()).size() == 15);
}

TEST_CASE("a missing barrier shows", "[fake_cuda]") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    std::vector<int> expected = {1, 3, 5, 7, 9, 11, 13, 7};
    for (int& sum : expected) sum += 2 * static_cast<int>(seed);
    const bool waits = seed % 2 == 0;
    CHECK((sums_of_neighbours(seed, waits) == expected) == waits);
  }
}

TEST_CASE("a thread that leaves while others wait is refused", "[fake_cuda]") {
  for (unsigned seed = 0; seed < 5; ++seed) {
    fake_cuda::shuffle_threads(seed);
    CHECK_THROWS_AS(fake_cuda::run_grid("leaves", 1, 8,
                                        [] {
                                          if (threadIdx.x == 3) return;
                                          __syncthreads();
                                        }),
                    std::logic_error);
  }
  CHECK(sums_of_neighbours(1, true).front() == 3);  // and the next grid runs
}

TEST_CASE("threads that wait at different barriers are refused", "[fake_cuda]") {
  const auto thread = [] {
    if (threadIdx.x == 3)
      __syncthreads();
    else
      __syncthreads();
  };
  CHECK_THROWS_AS(fake_cuda::run_grid("apart", 1, 8, thread), std::logic_error);
}

TEST_CASE("what a thread throws arrives, with barriers or without", "[fake_cuda]") {
  for (const bool waits : {false, true})
    CHECK_THROWS_AS(fake_cuda::run_grid("throws", 2, 8,
                                        [&] {
                                          if (waits) __syncthreads();
                                          if (threadIdx.x == 5) throw std::out_of_range("5");
                                        }),
                    std::out_of_range);
}

#ifndef __SANITIZE_ADDRESS__
TEST_CASE("shared memory is garbage at first", "[fake_cuda]") {
  int zeros = 0;
  fake_cuda::run_grid("garbage", 4, 2, [&] {
    __shared__ int shared[2];
    zeros += shared[threadIdx.x] == 0;
    shared[threadIdx.x] = 0;
  });
  CHECK(zeros == 0);
}
#endif
