// The one thread of a process that speaks over its wire. Whatever has something to say or expects
// something is polled by it, in turn; no other thread ever waits in a call of MPI, so workers,
// signals and time limits stay alive whatever happens to a peer.
//
// It sleeps between two looks: shortly while somebody waits for what may come, longer the longer
// nothing has happened. A call of wake() ends the sleep.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "transport/wire.hpp"

namespace pipetrain {

class Polled {  // all calls from the wire's thread; none waits
 public:
  virtual ~Polled() = default;
  virtual bool poll(RankWire& wire) = 0;  // true: something happened
  virtual void withdraw(
      RankWire& wire) noexcept = 0;  // what it has asked for: it is polled no more
};

class WireThread {
 public:
  // The wire is made on the thread; what that throws is thrown here. `on_error`: what a poll threw,
  // from the thread, which polls on.
  WireThread(const MakeRankWire& make, std::function<void(std::exception_ptr)> on_error);
  ~WireThread();

  int rank() const { return rank_; }
  int size() const { return size_; }

  void add(Polled& polled);
  void remove(Polled& polled);  // waits until the thread has done with it
  void wake() noexcept;

  // The thread stops. `finish`: and the wire is finished; false where that took more than
  // `seconds`. Otherwise it is cut: nothing more is sent or received.
  bool end(bool finish, double seconds);

  // While it lives, somebody waits for a message.
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
  void run(const MakeRankWire& make);
  void loop(RankWire& wire);
  bool poll_all(RankWire& wire);
  bool take_requests(RankWire& wire);
  void sleep(double idle_seconds);

  const std::function<void(std::exception_ptr)> on_error_;
  int rank_ = 0, size_ = 1;
  std::vector<Polled*> polled_;  // the thread's

  std::mutex mutex_;
  std::condition_variable changed_, answered_;
  std::vector<Polled*> adding_, removing_;
  bool started_ = false, ending_ = false, finishing_ = false;
  bool polled_last_ = false, ended_ = false;
  bool woken_ = false;
  std::exception_ptr failed_;  // to start
  std::atomic<int> waiting_ = 0;
  std::thread thread_;
};

}  // namespace pipetrain
