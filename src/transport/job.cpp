#include "transport/job.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <thread>
#include <utility>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/failure.hpp"

namespace pipetrain {
namespace {

constexpr double per_ns = 1e-9;
constexpr double seconds_to_tell = 2;
constexpr double shortest = 1;  // that hardware.peer_timeout may be
constexpr double unlimited = std::numeric_limits<double>::infinity();
constexpr int nobody = -1;

Note note_of(const JobFailure& failure) {
  const std::int32_t numbers[] = {failure.rank, static_cast<std::int32_t>(failure.code),
                                  failure.silent};
  Note note(sizeof numbers + failure.message.size());
  std::memcpy(note.data(), numbers, sizeof numbers);
  std::memcpy(note.data() + sizeof numbers, failure.message.data(), failure.message.size());
  return note;
}

JobFailure failure_of(std::span<const std::byte> note) {
  std::int32_t numbers[3] = {};
  if (note.size() < sizeof numbers) return {};
  std::memcpy(numbers, note.data(), sizeof numbers);
  const auto* const text = reinterpret_cast<const char*>(note.data()) + sizeof numbers;
  return {numbers[0], static_cast<ExitCode>(numbers[1]),
          std::string(text, note.size() - sizeof numbers), numbers[2] != 0};
}

JobFailure failure_of(int rank, const std::exception& error) {
  const Failure failure = pipetrain::failure_of(error);
  return {rank, failure.code, failure.message, false};
}

}  // namespace

Job::Job(const MakeRankWire& make_wire, double seconds_to_end)
    : wire_thread_(std::make_unique<WireThread>(make_wire,
                                                [this](std::exception_ptr error) {
                                                  try {
                                                    std::rethrow_exception(error);
                                                  } catch (const std::exception& e) {
                                                    keep(failure_of(wire_thread_->rank(), e));
                                                  }
                                                })),
      notes_(std::make_unique<RankNotes>(*wire_thread_)),
      knows_(wire_thread_->size(), false),
      seconds_to_end_(seconds_to_end) {
  notes_->listen(Topic::Failure,
                 [this](int from, std::span<const std::byte> note) { hear_failure(from, note); });
  notes_->listen(Topic::Over, [this](int from, std::span<const std::byte>) {
    ++others_over_;
    if (from == 0) all_over_ = true;
  });
  wire_thread_->add(*this);
}

Job::~Job() {
  if (!over_) cut(false, 0);
  if (abandoned_) {
    (void)notes_.release();
    (void)wire_thread_.release();
  }
  notes_.reset();
}

void Job::set_peer_timeout(double seconds) {
  peer_timeout_ = seconds;
  knows_timeout_ = true;
}

void Job::on_failure(std::function<void()> wake) {
  const std::lock_guard lock(waking_);
  wake_ = std::move(wake);
  if (wake_ && failure()) wake_();
}

void Job::each_moment(std::function<void()> look) {
  const std::lock_guard lock(waking_);
  look_ = std::move(look);
}

std::optional<JobFailure> Job::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

bool Job::failed() const {
  const std::lock_guard lock(mutex_);
  return failure_.has_value();
}

// Only the first failure counts, and every rank passes it on: a rank that has heard it from all
// others knows that all know.
void Job::keep(JobFailure failure) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = failure;
  }
  notes_->drop_waiting();  // gradients, say, of which nobody makes use any more
  notes_->send_to_others(Topic::Failure, note_of(failure));
  passed_on_ = true;
  notes_->close();
  const std::lock_guard lock(waking_);
  if (wake_) wake_();
}

void Job::hear_failure(int from, std::span<const std::byte> note) {
  {
    const std::lock_guard lock(mutex_);
    knows_[from] = true;
  }
  if (from == 0) leader_knows_ = true;
  JobFailure failure = failure_of(note);
  if (!failure.message.starts_with("rank "))
    failure.message = fmt::format("rank {}: {}", failure.rank, failure.message);
  keep(std::move(failure));
}

Activity Job::poll(RankWire&) {
  {
    const std::lock_guard lock(waking_);
    if (look_) look_();
  }
  if (size() == 1 || all_over_ || passed_on_) return Activity::None;
  const std::int64_t now = now_ns();
  const double interval = std::min(1.0, (knows_timeout_ ? peer_timeout_.load() : shortest) / 8);
  // This process was stopped: it sees no sign of life from another rank before it has polled again.
  if (static_cast<double>(now - looked_ns_) * per_ns > peer_timeout_ / 4) notes_->hear_all();
  looked_ns_ = now;
  if (static_cast<double>(now - beat_ns_) * per_ns < interval) return Activity::None;
  beat_ns_ = now;
  if (leads())
    notes_->send_to_others(Topic::Beat, {});
  else
    notes_->send(0, Topic::Beat, {});
  look_for_silent_ranks();
  return Activity::Moved;
}

void Job::look_for_silent_ranks() {
  for (int other = 0; other < size(); ++other) {
    if (other == rank() || (!leads() && other != 0)) continue;
    const double silent = static_cast<double>(now_ns() - notes_->heard_ns(other)) * per_ns;
    if (silent <= peer_timeout_) continue;
    keep({other, ExitCode::Device,
          fmt::format("rank {} has not been heard of for {:g} s (hardware.peer_timeout): its "
                      "process was stopped, or its host or the network to it is down",
                      other, peer_timeout_.load()),
          true});
    return;
  }
}

// A rank that frees tens of gigabytes, or closes files of a slow disk, takes its time to get here.
void Job::finish() {
  if (over_) return;
  if (leads()) {
    dismiss();
    wait_unless_failed(unlimited, [&] { return others_over_ == size() - 1; });
    notes_->send_to_others(Topic::Over, {});
    all_over_ = true;
  } else {
    notes_->send(0, Topic::Over, {});
    wait_unless_failed(unlimited, [&] { return all_over_.load(); });
  }
  wait_unless_failed(peer_timeout_, [&] { return notes_->all_sent(nobody); });
  cut(true, std::max(seconds_to_end_, peer_timeout_.load()));
}

void Job::dismiss() {
  if (!dismissed_.exchange(true)) notes_->send_to_others(Topic::Command, {});
}

void Job::wait_unless_failed(double seconds, const auto& there) const {
  const std::int64_t start = now_ns();
  while (!there() && static_cast<double>(now_ns() - start) * per_ns < seconds) {
    if (const auto failed = failure()) throw Error(failed->code, failed->message);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Job::fail(const std::exception& error) noexcept {
  if (over_) return;
  try {
    keep(failure_of(rank(), error));
    const std::int64_t start = now_ns();
    // Rank 0 does not wait for a rank that hears nothing: rank 0 then ends first, and its exit code
    // is the job's.
    const auto failed = failure();
    const int except = leads() && failed->silent ? failed->rank : nobody;
    const auto told = [&](int all_but) {
      return passed_on_ && all_know(all_but) && notes_->all_sent(all_but);
    };
    while (!told(except) && static_cast<double>(now_ns() - start) * per_ns < seconds_to_tell)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    cut(told(nobody), seconds_to_end_);
  } catch (const std::exception&) {  // only the first failure counts
    over_ = true;
  }
}

void Job::report(const std::exception& error) { keep(failure_of(rank(), error)); }

void Job::rethrow(const std::exception& error) const {
  const auto failed = failure();
  if (failed && (failed->rank != rank() || failed->message != error.what()))
    throw Error(failed->code, failed->message);
  if (const auto* const ours = dynamic_cast<const Error*>(&error))
    throw Error(ours->code(), ours->what());
  throw;
}

bool Job::all_know(int except) const {
  const std::lock_guard lock(mutex_);
  for (int other = 0; other < size(); ++other)
    if (other != rank() && other != except && !knows_[other]) return false;
  return true;
}

// If other ranks never reach the end, MPI's own threads are left running: the process ends.
void Job::cut(bool finish, double seconds) {
  over_ = true;
  notes_->close();
  const bool ended = wire_thread_->end(finish, seconds);
  finished_ = finish && ended;
  abandoned_ = !ended;
}

}  // namespace pipetrain
