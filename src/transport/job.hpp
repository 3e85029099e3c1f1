// The processes of one training, its ranks: which ones there are, what they tell each other, and
// how they all end. Rank 0 leads: it decides what is done, writes files, and prints.
//
// How a job ends:
//   finish()   rank 0 has nothing more to do and says so. Each rank says when it is over too, and
//              is still heard of until all are; then they finish their wires together
//   fail()     a rank cannot continue: all others hear why, stop, and end within seconds. The same
//              happens if a rank is not heard of for `peer_timeout`; a slow rank is still heard of,
//              because its wire's thread sends signs of life
// A wait for a rank ends when it answers, or is not heard of for that long.
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
  int rank = 0;  // the rank that failed
  ExitCode code = ExitCode::Device;
  std::string message;
  bool silent = false;  // the rank is not heard of, and hears nothing
};

// Threading: any thread.
class Job final : public Polled {
 public:
  // Throws on this thread what make_wire throws. Ending the wire may take `seconds_to_end`, or the
  // peer timeout if that is longer and nothing has failed; after that it is abandoned.
  explicit Job(const MakeRankWire& make_wire, double seconds_to_end = 5);
  // Aborts a job that neither finished nor failed.
  ~Job() override;

  int rank() const { return wire_thread_->rank(); }
  int size() const { return wire_thread_->size(); }
  bool leads() const { return rank() == 0; }
  WireThread& wire_thread() { return *wire_thread_; }
  RankNotes& notes() { return *notes_; }

  void set_peer_timeout(double seconds);
  // `wake` is called once, when the job fails or this rank hears of a failure, on the thread that
  // notices (the wire's, or that of fail() or report()); at once if that has already happened. It
  // must not wait. Null removes it; it is not running any more when this returns.
  void on_failure(std::function<void()> wake);
  std::optional<JobFailure> failure() const;
  bool failed() const;
  // `look` is called now and then, on the wire's thread, for as long as the job lives. It must not
  // wait.
  void each_moment(std::function<void()> look);

  // On rank 0: there are no further commands, so that the others end what they have begun while
  // this rank does. finish() does it too.
  void dismiss();
  // On rank 0: all is done. On other ranks: rank 0 has said so. DeviceError.
  void finish();
  // Ends this rank with `error`, unless another one has failed before: tells all ranks, and waits
  // for at most two seconds until they know. Afterwards nothing is sent or received. The memory of
  // messages must stay valid until then.
  void fail(const std::exception& error) noexcept;
  // The same without waiting, for a thread that others wait for.
  void report(const std::exception& error);
  // Throws the failure if another rank has failed, of which `error` is then only a consequence;
  // otherwise `error`.
  [[noreturn]] void rethrow(const std::exception& error) const;
  // Did rank 0 hear of the failure? If so, it prints it.
  bool leader_knows() const { return leader_knows_; }
  // Have all ranks finished their wires together? If not, the launcher blames the rank that ends
  // first, and takes its exit code for the job's.
  bool finished() const { return finished_; }

  Activity poll(RankWire& wire) override;
  void withdraw(RankWire&) noexcept override {}

 private:
  void hear_failure(int from, std::span<const std::byte> note);
  void keep(JobFailure failure);
  void look_for_silent_ranks();
  void wait_unless_failed(double seconds, const auto& there) const;
  bool all_know(int except) const;
  void cut(bool finish, double seconds);

  std::unique_ptr<WireThread> wire_thread_;
  std::unique_ptr<RankNotes> notes_;
  std::atomic<double> peer_timeout_ = 30;
  std::atomic<bool> knows_timeout_ = false;  // of the config, which all ranks have
  std::atomic<int> others_over_ = 0;
  std::atomic<bool> all_over_ = false;  // and no rank gives a sign of life any more
  std::atomic<bool> leader_knows_ = false, dismissed_ = false, passed_on_ = false, over_ = false,
                    finished_ = false;
  std::int64_t beat_ns_ = 0, looked_ns_ = 0;  // used by the wire's thread only

  mutable std::mutex mutex_;
  std::optional<JobFailure> failure_;
  std::vector<bool> knows_;  // which ranks know of the failure
  std::mutex waking_;        // held while wake_ runs
  std::function<void()> wake_, look_;

  const double seconds_to_end_;
  bool abandoned_ = false;  // the wire's thread still runs, and uses what it was given
};

}  // namespace pipetrain
