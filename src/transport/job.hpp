// The processes of one training, its ranks: who is there, what they say to each other, and how all
// of them end. Rank 0 leads: it decides what is done, writes, and prints.
//
// How a job ends:
//   finish()   rank 0 has nothing more to do and says so; all ranks finish their wires together
//   fail()     a rank cannot continue: all others hear why, stop, and end within seconds. So it is
//              where a rank is not heard of for `peer_timeout`: one that is slow is heard of all
//              the same, by its wire's thread
// Every wait for a rank has a time limit.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/notes.hpp"
#include "transport/wire_thread.hpp"

namespace pipetrain {

struct JobFailure {
  int rank = 0;  // where it was
  ExitCode code = ExitCode::Device;
  std::string message;
  bool silent = false;  // that rank is not heard of, and hears nothing
};

// Threading: any thread.
class Job final : public Polled {
 public:
  // With this thread's errors of make_wire. The wire's own end may take `seconds_to_end`, or the
  // peer timeout where that is longer and nothing has failed; then it is left as it is.
  explicit Job(const MakeRankWire& make_wire, double seconds_to_end = 10);
  // A job that neither finished nor failed is aborted.
  ~Job() override;

  int rank() const { return wire_thread_->rank(); }
  int size() const { return wire_thread_->size(); }
  bool leads() const { return rank() == 0; }
  WireThread& wire_thread() { return *wire_thread_; }
  RankNotes& notes() { return *notes_; }

  void set_peer_timeout(double seconds) { peer_timeout_ = seconds; }
  // Called once, from the wire's thread, when the job fails or this rank hears of a failure; at
  // once where that was before. It must not wait. Null: nobody, and it is not running any more.
  void on_failure(std::function<void()> wake);
  std::optional<JobFailure> failure() const;
  // Called now and then, from the wire's thread, as long as the job lives. It must not wait.
  void each_moment(std::function<void()> look);

  // Rank 0's: all is done. On others: rank 0 has said so. DeviceError.
  void finish();
  // This rank ends by `error`, unless another one has failed before it: tells all, and waits until
  // they know, for two seconds at most. From then on nothing is sent or received. Memory that
  // messages are in must be alive until then.
  void fail(const std::exception& error) noexcept;
  // The same without the wait, from a thread that others wait for.
  void report(const std::exception& error);
  // What is to be thrown where a rank has failed and `error` came of it here: the failure, if it
  // was another rank's.
  [[noreturn]] void rethrow(const std::exception& error) const;
  // Did rank 0 hear of the failure? Then it prints it.
  bool leader_knows() const { return leader_knows_; }
  // Whether all ranks have finished their wires together. If not, the launcher takes the first one
  // that ends for the culprit, and its exit code for the job's.
  bool finished() const { return finished_; }

  bool poll(RankWire& wire) override;
  void withdraw(RankWire&) noexcept override {}

 private:
  void hear_failure(int from, std::span<const std::byte> note);
  void keep(JobFailure failure);
  void look_for_silent_ranks();
  bool all_know(int except) const;
  void cut(bool finish, double seconds);

  std::unique_ptr<WireThread> wire_thread_;
  std::unique_ptr<RankNotes> notes_;
  std::atomic<double> peer_timeout_ = 30;
  std::atomic<bool> leader_knows_ = false, over_ = false, finished_ = false;
  std::int64_t beat_ns_ = 0, looked_ns_ = 0;  // the wire's thread's

  mutable std::mutex mutex_;
  std::optional<JobFailure> failure_;
  std::vector<bool> knows_;  // of the failure
  std::mutex waking_;        // while wake_ runs
  std::function<void()> wake_, look_;

  const double seconds_to_end_;
  bool abandoned_ = false;  // the wire's thread runs on, with what it knows
};

}  // namespace pipetrain
