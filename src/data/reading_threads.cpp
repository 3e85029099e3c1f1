#include "data/reading_threads.hpp"

#include <cstdint>
#include <system_error>
#include <utility>

#include "base/batch_scheduling.hpp"

namespace pipetrain {

ReadingThreads::ReadingThreads(int threads) {
  try {
    for (int i = 1; i < threads; ++i) threads_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    // The machine allows no more threads: those that exist do the same work.
  }
}

ReadingThreads::~ReadingThreads() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool ReadingThreads::run(std::size_t count, const std::atomic<bool>& stop,
                         const std::function<void(std::size_t)>& read) {
  {
    const std::lock_guard lock(mutex_);
    read_ = &read;
    stop_ = &stop;
    count_ = count;
    next_ = 0;
    busy_ = threads_.size();
    ++runs_;
  }
  begun_.notify_all();
  share();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return busy_ == 0; });
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return !stop;
}

// Numbers are handed out in ascending order: when one fails, every smaller one has already been
// taken, and its thread finishes it.
void ReadingThreads::share() {
  while (!*stop_) {
    const std::size_t number = next_++;
    if (number >= count_) return;
    try {
      (*read_)(number);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      next_ = count_;
      if (failure_ && failed_ < number) continue;
      failure_ = std::current_exception();
      failed_ = number;
    }
  }
}

void ReadingThreads::serve() {
  const BatchScheduling works_ahead;
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    begun_.wait(lock, [&] { return ends_ || runs_ != seen; });
    if (ends_) return;
    seen = runs_;
    lock.unlock();
    share();
    lock.lock();
    if (--busy_ == 0) done_.notify_all();
  }
}

}  // namespace pipetrain
