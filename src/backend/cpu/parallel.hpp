// Splits a range over the caller's OpenMP team. Starting a team costs microseconds, so the caller
// does small work alone.
#pragma once

#include <omp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <type_traits>

namespace pipetrain::cpu {

// While it lives, the library's calls run on the caller's thread alone; a primitive that is made
// then is compiled for one thread.
class OneThread {
 public:
  OneThread() { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  const int before_ = omp_get_max_threads();
};

constexpr std::int64_t kWorkWorthATeam = 64 * 1024;  // multiply-adds
constexpr std::int64_t kElementWork = 4;             // for an element that is read and written once

// A range in parts, one for each thread. A thread works through its own part chunk by chunk, then
// takes the remaining chunks of other parts: a core that something else holds up does not hold up
// the others. Results do not depend on which thread does what. A body with a third argument also
// gets the end of the part that its chunk belongs to: its thread will most likely continue up to
// there.
class SharedRange {
 public:
  SharedRange(std::int64_t count, int threads)
      : count_(count), parts_(std::min<std::int64_t>(threads, kMostParts)) {
    for (std::int64_t p = 0; p < parts_; ++p) next_[index(p)].at = begin(p);
  }

  template <class Body>
  void work(std::int64_t thread, const Body& body) {
    for (std::int64_t i = 0; i < parts_; ++i) {
      const std::int64_t part = (thread + i) % parts_, end = begin(part + 1);
      const std::int64_t chunk = std::max<std::int64_t>(1, (end - begin(part)) / kChunks);
      std::atomic<std::int64_t>& next = next_[index(part)].at;
      while (next.load(std::memory_order_relaxed) < end) {
        const std::int64_t from = next.fetch_add(chunk, std::memory_order_relaxed);
        if (from < end) body(from, std::min(from + chunk, end), end);
      }
    }
  }

 private:
  static constexpr std::int64_t kMostParts = 64, kChunks = 40;
  struct alignas(64) Next {
    std::atomic<std::int64_t> at;
  };
  static std::size_t index(std::int64_t part) { return static_cast<std::size_t>(part); }
  std::int64_t begin(std::int64_t part) const { return count_ * part / parts_; }

  std::int64_t count_, parts_;
  std::array<Next, kMostParts> next_;
};

// Calls body(state, begin, end, part_end), or without the last argument, for chunks of [0, count).
// `state` is what make(thread) returned for that thread, of at most `threads`; `work` is the work
// of the whole range, in multiply-adds. The body must not throw.
template <class Make, class Body>
void parallel_ranges_with(std::int64_t count, std::int64_t work, int threads, Make make,
                          Body body) {
  const auto call = [&](auto& state, std::int64_t begin, std::int64_t end, std::int64_t part_end) {
    if constexpr (std::is_invocable_v<Body, decltype(state), std::int64_t, std::int64_t,
                                      std::int64_t>)
      body(state, begin, end, part_end);
    else
      body(state, begin, end);
  };
  const int team = std::min(omp_get_max_threads(), threads);
  if (team <= 1 || count <= 1 || work < kWorkWorthATeam) {
    auto state = make(0);
    call(state, 0, count, count);
    return;
  }
  SharedRange range(count, team);
#pragma omp parallel num_threads(team)
  {
    auto state = make(omp_get_thread_num());
    range.work(omp_get_thread_num(),
               [&](std::int64_t begin, std::int64_t end, std::int64_t part_end) {
                 call(state, begin, end, part_end);
               });
  }
}

// The same without a state.
template <class Body>
void parallel_ranges(std::int64_t count, std::int64_t work, Body body) {
  const auto stateless = [&](int, std::int64_t begin, std::int64_t end, std::int64_t part_end) {
    if constexpr (std::is_invocable_v<Body, std::int64_t, std::int64_t, std::int64_t>)
      body(begin, end, part_end);
    else
      body(begin, end);
  };
  parallel_ranges_with(
      count, work, omp_get_max_threads(), [](int thread) { return thread; }, stateless);
}

// The same, one index at a time.
template <class Body>
void parallel_each(std::int64_t count, std::int64_t work, Body body) {
  parallel_ranges(count, work, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

// The same for a body that may throw: the others end first, then what one of them threw is thrown.
template <class Body>
void parallel_calls(std::int64_t count, std::int64_t work, Body body) {
  std::atomic_flag failed;
  std::exception_ptr failure;  // no exception may leave a thread of the team
  parallel_each(count, work, [&](std::int64_t i) {
    try {
      body(i);
    } catch (...) {
      if (!failed.test_and_set()) failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

// Splits the columns of a matrix at cache lines, to sum over its rows.
template <class Body>
void column_ranges(std::int64_t columns, std::int64_t rows, Body body) {
  constexpr std::int64_t line = 64;  // columns that are read together
  parallel_ranges((columns + line - 1) / line, kElementWork * rows * columns,
                  [&](std::int64_t begin, std::int64_t end) {
                    body(begin * line, std::min(end * line, columns));
                  });
}

}  // namespace pipetrain::cpu
