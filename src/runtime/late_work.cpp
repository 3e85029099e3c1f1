#include "runtime/late_work.hpp"

#include <utility>

#include "base/start_thread.hpp"
#include "machine/threads.hpp"
#include "transport/channel.hpp"

namespace pipetrain {

LateWork::LateWork(int kernel_threads, std::function<void(const std::exception&)> on_error)
    : kernel_threads_(kernel_threads), on_error_(std::move(on_error)) {
  thread_ = start_thread([this] { run(); });
}

LateWork::~LateWork() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void LateWork::add(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
  }
  changed_.notify_all();
}

void LateWork::settle() {
  std::unique_lock lock(mutex_);
  work_.clear();
  changed_.wait(lock, [&] { return !working_; });
}

void LateWork::run() {
  set_kernel_threads(kernel_threads_);
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return ended_ || !work_.empty(); });
      if (ended_) return;
      work = std::move(work_.front());
      work_.pop_front();
      working_ = true;
    }
    try {
      work();
    } catch (const ChannelClosed&) {
    } catch (const std::exception& error) {
      on_error_(error);
    }
    {
      const std::lock_guard lock(mutex_);
      working_ = false;
    }
    changed_.notify_all();
  }
}

}  // namespace pipetrain
