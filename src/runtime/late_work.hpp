// A thread for work that follows a message from another rank and takes too long for the thread that
// receives messages.
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
  // `on_error` is called on the work's thread with what a piece of work threw; the thread then does
  // the next piece. ChannelClosed is not an error.
  LateWork(int kernel_threads, std::function<void(const std::exception&)> on_error);
  ~LateWork();  // drops work that has not begun

  void add(std::function<void()> work);  // from any thread; does not wait
  void settle();                         // waits for work that has begun, and drops the rest

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
