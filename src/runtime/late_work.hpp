// A thread for what has to be done once something has come from another rank, and which takes too
// long for the thread that hears of it.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace pipetrain {

class LateWork {
 public:
  // `on_error`: what a piece of work threw, from the thread, which does the next one. ChannelClosed
  // is no error.
  LateWork(int kernel_threads, std::function<void(const std::exception&)> on_error);
  ~LateWork();  // what has not begun is dropped

  void add(std::function<void()> work);  // any thread; does not wait
  void settle();                         // waits for what has begun; the rest is dropped

 private:
  void run();

  const int kernel_threads_;
  const std::function<void(const std::exception&)> on_error_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
  bool working_ = false, ended_ = false;
  std::thread thread_;
};

}  // namespace pipetrain
