// Several threads that share the reading of a mini-batch's samples.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace pipetrain {

class ReadingThreads {
 public:
  explicit ReadingThreads(int threads);  // including the caller of run()
  ~ReadingThreads();

  // Calls read(0), ..., read(count - 1), each once, on any of the threads, and waits for them.
  // Throws what a single thread would have thrown: the exception of the smallest number that
  // throws; numbers after it may or may not have been read. Once `stop` is true no further call
  // begins, and run() returns false.
  bool run(std::size_t count, const std::atomic<bool>& stop,
           const std::function<void(std::size_t)>& read);

 private:
  void share();  // one thread's part of a run
  void serve();  // a thread's main loop

  const std::function<void(std::size_t)>* read_ = nullptr;  // of the run, like the next 3
  const std::atomic<bool>* stop_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_ = 0;

  std::mutex mutex_;  // protects everything below
  std::condition_variable begun_, done_;
  std::uint64_t runs_ = 0;
  std::size_t busy_ = 0;  // how many of threads_, in this run
  bool ends_ = false;
  std::exception_ptr failure_;
  std::size_t failed_ = 0;  // the number for which read() threw failure_
  std::vector<std::thread> threads_;
};

}  // namespace pipetrain
