// Cores and kernel threads.
#include "machine/threads.hpp"

#include <omp.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "machine/core_claims.hpp"

using namespace pipetrain;

TEST_CASE("there is a core", "[threads]") { CHECK(available_cores() >= 1); }

TEST_CASE("a given number of threads is kept, and fits if there are enough cores", "[threads]") {
  const int cores = available_cores();
  CHECK(plan_threads(1, 1).threads_per_stage == 1);
  CHECK(plan_threads(1, 1).fits);
  CHECK(plan_threads(cores, 1).fits);
  CHECK_FALSE(plan_threads(cores + 1, 1).fits);
  CHECK(plan_threads(1, cores).fits);
  CHECK(plan_threads(3, cores + 5).threads_per_stage == cores + 5);
  CHECK_FALSE(plan_threads(1, cores + 1).fits);
}

TEST_CASE("0 shares the cores out, at least one each", "[threads]") {
  const int cores = available_cores();
  CHECK(plan_threads(1, 0).threads_per_stage == cores);
  CHECK(plan_threads(1, 0).fits);
  CHECK(plan_threads(2, 0).threads_per_stage == std::max(1, cores / 2));
  CHECK(plan_threads(10 * cores, 0).threads_per_stage == 1);
  CHECK_FALSE(plan_threads(10 * cores, 0).fits);
}

TEST_CASE("kernel threads are a thread's own", "[threads]") {
  const int before = omp_get_max_threads();
  int inside = 0;
  std::thread([&] {
    set_kernel_threads(3);
    inside = omp_get_max_threads();
  }).join();
  CHECK(inside == std::min(3, omp_get_thread_limit()));
  CHECK(omp_get_max_threads() == before);
}

// With OMP_DYNAMIC=true on a busy machine a convolution's gradient once waited forever: its kernel
// was made for two threads and got one.
TEST_CASE("kernel threads come in full, whatever the environment says", "[threads]") {
  int promised = 0, came = 0;
  std::thread([&] {
    omp_set_dynamic(1);
    omp_set_max_active_levels(0);
    set_kernel_threads(2);
    promised = omp_get_max_threads();
#pragma omp parallel
#pragma omp single
    came = omp_get_num_threads();
  }).join();
  CHECK(promised == std::min(2, omp_get_thread_limit()));
  CHECK(came == promised);
}

// Processor time, not elapsed time: a busy machine changes nothing.
TEST_CASE("a team that is asked to sleep uses no processor while it waits", "[threads]") {
  constexpr int waits = 20;
  const auto seconds = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  double waited = 0;
  int team = 0;
  std::thread([&] {
    const SleepingTeams sleeping;
    set_kernel_threads(2);
    for (int i = 0; i < waits; ++i)
#pragma omp parallel
    {
      const bool first = omp_get_thread_num() == 0;
      if (first) team = omp_get_num_threads();
      if (!first) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const double before = seconds();
#pragma omp barrier
      if (first) waited += seconds() - before;
    }
  }).join();
  if (team < 2) {
    WARN("skipped: OMP_THREAD_LIMIT leaves a team one thread");
    return;
  }
  INFO("seconds of the processor in " << waits << " waits of 20 ms: " << waited);
  CHECK(waited < waits * 0.0005);  // one that spins takes milliseconds each
}

TEST_CASE("a pinned worker's kernel threads have a core each", "[threads]") {
  const int cores = available_cores();
  int one = 0;
  std::vector<int> core_of(static_cast<std::size_t>(cores), -1), free_to_go(core_of);
  std::thread([&] {
    set_kernel_threads(1);
    pin_worker(7, {.threads_per_stage = 1, .cores = allowed_cores()});  // the cores wrap around
    one = available_cores();
  }).join();
  int team = 0;
  std::thread([&] {
    set_kernel_threads(cores);
    pin_worker(0, {.threads_per_stage = cores, .cores = allowed_cores()});
#pragma omp parallel
    {
      const auto thread = static_cast<std::size_t>(omp_get_thread_num());
      core_of[thread] = sched_getcpu();
      free_to_go[thread] = available_cores();
#pragma omp single
      team = omp_get_num_threads();
    }
  }).join();
  CHECK(one == 1);
  core_of.resize(static_cast<std::size_t>(team));
  free_to_go.resize(static_cast<std::size_t>(team));
  CHECK(std::set<int>(core_of.begin(), core_of.end()).size() == core_of.size());
  CHECK(free_to_go == std::vector<int>(free_to_go.size(), 1));
  CHECK(available_cores() == cores);  // this thread stays free
}
