// Several threads that share out the samples of a mini-batch among them.
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
  explicit ReadingThreads(int threads);  // the caller of run() is one of them
  ~ReadingThreads();

  // Calls read(0), ..., read(count - 1), each once and by any of the threads, and waits for them.
  // What is thrown is what one thread alone would have thrown: the exception of the smallest number
  // that throws; numbers after it may have been read or not. No call begins once `stop` is true:
  // false then.
  bool run(std::size_t count, const std::atomic<bool>& stop,
           const std::function<void(std::size_t)>& read);

 private:
  void share();  // of one thread in one run
  void serve();  // of a thread until the end

  const std::function<void(std::size_t)>* read_ = nullptr;  // of the run, as these three
  const std::atomic<bool>* stop_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_ = 0;

  std::mutex mutex_;  // of all below
  std::condition_variable begun_, done_;
  std::uint64_t runs_ = 0;
  std::size_t busy_ = 0;  // of threads_, in this run
  bool ends_ = false;
  std::exception_ptr failure_;
  std::size_t failed_ = 0;  // its number
  std::vector<std::thread> threads_;
};

}  // namespace pipetrain
