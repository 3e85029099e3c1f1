// The one thread of a process that uses its wire. It polls, in turn, everything that has something
// to send or to receive; no other thread ever waits in an MPI call, so workers, signals and time
// limits keep working whatever happens to a peer.
//
// It sleeps after a round in which nothing happened: longer the longer nothing has happened, and
// longest where no thread waits for a message and nothing is being sent, since each time it wakes
// it interrupts a worker that computes. wake() ends the sleep, and so does a message that is due.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "transport/wire.hpp"

namespace pipetrain {

enum class Activity {
  None,
  Sending,  // something is under way
  Moved,    // something happened
};

class Polled {  // all calls are made on the wire's thread; none may wait
 public:
  virtual ~Polled() = default;
  virtual Activity poll(RankWire& wire) = 0;
  virtual void withdraw(
      RankWire& wire) noexcept = 0;  // its open requests; it will not be polled again
};

class WireThread {
 public:
  // Makes the wire on the new thread, but throws here what that throws. Says so if that takes long,
  // and ends the process after five minutes. `on_error`: called on the
  // thread with what a poll threw; the thread continues polling.
  WireThread(const MakeRankWire& make, std::function<void(std::exception_ptr)> on_error);
  ~WireThread();

  int rank() const { return rank_; }
  int size() const { return size_; }

  void add(Polled& polled);
  void remove(Polled& polled);  // waits until the thread no longer uses it
  void wake() noexcept;
  // From within a poll: the sleep after this round is no longer than that.
  void sleep_at_most(std::int64_t nanoseconds) {
    at_most_ns_ = std::min(at_most_ns_, std::max<std::int64_t>(nanoseconds, 0));
  }

  // From within a withdraw(): what the wire may still read.
  void keep_to_the_end(std::shared_ptr<void> memory) { kept_.push_back(std::move(memory)); }
  // Has somebody waited in vain for another rank to hear what it said, before going?
  bool is_unheard() const { return unheard_; }
  void set_unheard() { unheard_ = true; }

  // Stops the thread. `finish`: also finishes the wire; false if that failed, or took more than
  // `seconds`.
  // Otherwise the wire is cut: nothing more is sent or received.
  bool end(bool finish, double seconds);

  // As long as one exists, a thread is waiting for a message.
  class Waiting {
   public:
    explicit Waiting(WireThread& wire_thread) : wire_thread_(wire_thread) {
      ++wire_thread_.waiting_;
      wire_thread_.wake();
    }
    ~Waiting() { --wire_thread_.waiting_; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    WireThread& wire_thread_;
  };

 private:
  void wait_for_start(std::unique_lock<std::mutex>& lock);
  void run(const MakeRankWire& make);
  void loop(RankWire& wire);
  Activity poll_all(RankWire& wire);
  bool take_requests(RankWire& wire);
  std::chrono::microseconds pause(double idle_seconds, bool sending) const;
  void sleep(double idle_seconds, bool sending);

  const std::function<void(std::exception_ptr)> on_error_;
  int rank_ = 0, size_ = 1;
  std::vector<Polled*> polled_;  // used by the thread only
  std::int64_t at_most_ns_ = 0;  // likewise: the longest sleep that this round's polls allow

  std::mutex mutex_;
  std::condition_variable changed_, answered_;
  std::vector<Polled*> adding_, removing_;
  bool started_ = false, ending_ = false, finishing_ = false;
  bool polled_last_ = false, ended_ = false, finished_ = false;
  bool woken_ = false;
  std::exception_ptr failed_;  // why the thread could not start
  std::atomic<int> waiting_ = 0;
  std::atomic<bool> unheard_ = false;
  std::vector<std::shared_ptr<void>> kept_;  // used by the thread only
  std::thread thread_;
};

// Waits until `there()`, which a message of another rank may bring about. Null: there are no ranks.
void wait_with(WireThread* wire_thread, std::unique_lock<std::mutex>& lock,
               std::condition_variable& changed, const auto& there) {
  if (there()) return;
  std::optional<WireThread::Waiting> waiting;
  if (wire_thread) waiting.emplace(*wire_thread);
  changed.wait(lock, there);
}

}  // namespace pipetrain
