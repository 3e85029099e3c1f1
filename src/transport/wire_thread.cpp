#include "transport/wire_thread.hpp"

#include <spdlog/spdlog.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/error.hpp"
#include "base/start_thread.hpp"
#include "transport/launcher.hpp"

namespace pipetrain {

using std::chrono::steady_clock;

namespace {

constexpr std::chrono::seconds notice{30}, longest_start{300};

}  // namespace

WireThread::WireThread(const MakeRankWire& make, std::function<void(std::exception_ptr)> on_error)
    : on_error_(std::move(on_error)) {
  thread_ = start_thread([this, make] { run(make); });
  std::unique_lock lock(mutex_);
  wait_for_start(lock);
  if (!failed_) return;
  lock.unlock();
  thread_.join();
  std::rethrow_exception(failed_);
}

// MPI starts when all ranks have. Nothing can end a thread that waits for that, except the end of
// its process.
void WireThread::wait_for_start(std::unique_lock<std::mutex>& lock) {
  for (auto waited = notice; !answered_.wait_for(lock, notice, [&] { return started_; });
       waited += notice) {
    if (launch().rank == 0)
      spdlog::warn(
          "MPI has been starting for {} s: it waits for a rank that was stopped or ended, or for a "
          "host that cannot be reached (docs/clusters.md says which ports MPI opens)",
          waited.count());
    if (waited < longest_start) continue;
    spdlog::error("MPI has not started in {} s", longest_start.count());
    spdlog::default_logger()->flush();
    std::_Exit(static_cast<int>(ExitCode::Device));
  }
}

WireThread::~WireThread() {
  end(false, 0);
  if (thread_.joinable()) thread_.join();
}

void WireThread::run(const MakeRankWire& make) {
  std::unique_ptr<RankWire> wire;
  try {
    wire = make();
    rank_ = wire->rank();
    size_ = wire->size();
  } catch (...) {
    failed_ = std::current_exception();
  }
  {
    const std::lock_guard lock(mutex_);
    started_ = true;
  }
  answered_.notify_all();
  if (failed_) return;
  ::prctl(PR_SET_TIMERSLACK, 1000UL);  // nanoseconds: keeps short sleeps short
  loop(*wire);
  {
    const std::lock_guard lock(mutex_);
    polled_last_ = true;
  }
  answered_.notify_all();
  bool finished = false;
  if (finishing_) try {
      wire->finish();
      finished = true;
    } catch (const std::exception&) {  // then the launcher says what it makes of it
    }
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    finished_ = finished;
  }
  answered_.notify_all();
}

void WireThread::loop(RankWire& wire) {
  auto moved = steady_clock::now();
  while (take_requests(wire)) {
    const auto now = steady_clock::now();
    const Activity activity = poll_all(wire);
    if (activity == Activity::Moved)
      moved = now;
    else
      sleep(std::chrono::duration<double>(now - moved).count(), activity == Activity::Sending);
  }
}

Activity WireThread::poll_all(RankWire& wire) {
  Activity activity = Activity::None;
  at_most_ns_ = std::numeric_limits<std::int64_t>::max();
  for (Polled* const polled : polled_) try {
      activity = std::max(activity, polled->poll(wire));
    } catch (...) {
      on_error_(std::current_exception());
    }
  return activity;
}

// False: the thread is to end.
bool WireThread::take_requests(RankWire& wire) {
  std::vector<Polled*> removing;
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return false;
    polled_.insert(polled_.end(), adding_.begin(), adding_.end());
    adding_.clear();
    removing = removing_;
  }
  if (removing.empty()) return true;
  for (Polled* const polled : removing) {
    polled->withdraw(wire);
    std::erase(polled_, polled);
  }
  {
    const std::lock_guard lock(mutex_);
    for (Polled* const polled : removing) std::erase(removing_, polled);
  }
  answered_.notify_all();
  return true;
}

// Each wake takes some 40 us of a core. A core whose worker waits has nothing else to do; otherwise
// it computes, so what is under way is looked at less and less often, and nothing needs haste: a
// worker that sends by the wire, gives a packet back or begins to wait wakes this thread itself.
std::chrono::microseconds WireThread::pause(double idle_seconds, bool sending) const {
  using std::chrono::microseconds;
  if (waiting_ > 0)
    return microseconds(idle_seconds < 0.0005 ? 30
                        : idle_seconds < 0.02 ? 100
                        : idle_seconds < 0.2  ? 200
                        : idle_seconds < 2    ? 300
                                              : 1000);
  if (sending) return microseconds(std::llround(std::clamp(idle_seconds * 1e6 / 2, 100.0, 2000.0)));
  return microseconds(5000);
}

void WireThread::sleep(double idle_seconds, bool sending) {
  const std::chrono::nanoseconds longest(at_most_ns_);
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::min<std::chrono::nanoseconds>(pause(idle_seconds, sending), longest),
                    [&] { return woken_ || ending_ || !adding_.empty() || !removing_.empty(); });
  woken_ = false;
}

void WireThread::add(Polled& polled) {
  {
    const std::lock_guard lock(mutex_);
    adding_.push_back(&polled);
  }
  changed_.notify_all();
}

void WireThread::remove(Polled& polled) {
  std::unique_lock lock(mutex_);
  removing_.push_back(&polled);
  changed_.notify_all();
  answered_.wait(lock, [&] {
    return polled_last_ || std::ranges::find(removing_, &polled) == removing_.end();
  });
}

void WireThread::wake() noexcept {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

bool WireThread::end(bool finish, double seconds) {
  std::unique_lock lock(mutex_);
  if (!ending_) finishing_ = finish;
  ending_ = true;
  changed_.notify_all();
  if (!finishing_) {
    answered_.wait(lock, [&] { return ended_ || !started_ || failed_; });
    return true;
  }
  if (answered_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return ended_; }))
    return finished_;
  thread_.detach();
  return false;
}

}  // namespace pipetrain
