#include "runtime/step_board.hpp"

#include <algorithm>
#include <numeric>

#include "transport/channel.hpp"

namespace pipetrain {

namespace {

constexpr std::chrono::milliseconds pause(5);  // between two steps that wake the reporter

// What the copies of a stage did, summed in their order.
StageStep together(const std::vector<StageStep>& copies) {
  StageStep all = copies[0];
  for (std::size_t c = 1; c < copies.size(); ++c) {
    const StageStep& copy = copies[c];
    all.busy_seconds += copy.busy_seconds;
    all.waiting_seconds += copy.waiting_seconds;
    all.end_ns = std::max(all.end_ns, copy.end_ns);
    all.loss.sum += copy.loss.sum;
    all.loss.correct += copy.loss.correct;
    all.loss.correct_top5 += copy.loss.correct_top5;
    all.labels += copy.labels;
    all.samples += copy.samples;
    all.staleness = std::max(all.staleness, copy.staleness);
    all.communication.add(copy.communication);
  }
  all.copies = static_cast<int>(copies.size());
  return all;
}

}  // namespace

double StepRecord::squared_norm() const {
  return std::accumulate(sums_of_squares.begin(), sums_of_squares.end(), 0.0);
}

StepBoard::StepBoard(const Options& options)
    : stages_(options.stages),
      deposits_(options.stages + options.tied),
      drain_(options.drain),
      entries_(options.capacity),
      next_(options.first_step),
      begun_(options.first_step),
      end_(options.end) {
  std::vector<int> copies = options.copies;
  copies.resize(stages_, 1);
  parts_ = std::accumulate(copies.begin(), copies.end(), 0);
  for (Entry& e : entries_) {
    e.record.stages.resize(copies.size());
    e.record.sums_of_squares.resize(options.parameters);
    for (const int count : copies) e.parts.emplace_back(static_cast<std::size_t>(count));
  }
}

bool StepBoard::has_room(std::int64_t step) const {
  return step < next_ + static_cast<std::int64_t>(entries_.size());
}
StepBoard::Entry& StepBoard::entry(std::int64_t step) {
  return entries_[static_cast<std::size_t>(step) % entries_.size()];
}
const StepBoard::Entry& StepBoard::entry(std::int64_t step) const {
  return entries_[static_cast<std::size_t>(step) % entries_.size()];
}

void StepBoard::wait(std::unique_lock<std::mutex>& lock, const auto& condition) {
  workers_.wait(lock, [&] { return closed_ || condition(); });
  if (closed_) throw ChannelClosed();
}

void StepBoard::notify_all() noexcept {
  reporter_.notify_all();
  workers_.notify_all();
}

bool StepBoard::begin(std::int64_t step, std::int64_t count) {
  const std::lock_guard lock(mutex_);
  if (drain_ && drain_->load(std::memory_order_relaxed) && begun_ < end_) {
    end_ = begun_;
    notify_all();
  }
  if (step >= end_) return false;
  begun_ = std::max(begun_, step + count);
  return true;
}

std::int64_t StepBoard::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

bool StepBoard::can_deposit(std::int64_t step) const {
  const std::lock_guard lock(mutex_);
  return closed_ || has_room(step);
}

void StepBoard::deposit(std::int64_t step, int first_parameter, std::span<const double> sums) {
  std::unique_lock lock(mutex_);
  wait(lock, [&] { return has_room(step); });
  Entry& e = entry(step);
  std::copy(sums.begin(), sums.end(), e.record.sums_of_squares.begin() + first_parameter);
  if (++e.deposited == deposits_) workers_.notify_all();
}

bool StepBoard::has_total(std::int64_t step) const {
  const std::lock_guard lock(mutex_);
  return closed_ || (has_room(step) && entry(step).deposited == deposits_);
}

double StepBoard::total(std::int64_t step) {
  std::unique_lock lock(mutex_);
  wait(lock, [&] { return has_room(step) && entry(step).deposited == deposits_; });
  return entry(step).record.squared_norm();
}

void StepBoard::finish(std::int64_t step, StageId stage, int copy, double lr,
                       const StageStep& part) {
  std::unique_lock lock(mutex_);
  wait(lock, [&] { return has_room(step); });
  Entry& e = entry(step);
  e.record.step = step;
  e.record.lr = lr;
  e.parts[stage][copy] = part;
  if (++e.finished < parts_) return;
  for (std::size_t s = 0; s < e.parts.size(); ++s) e.record.stages[s] = together(e.parts[s]);
  if (wakes_reporter(step)) reporter_.notify_all();
}

// What it is not woken for waits for the next step, or until the reporter looks by itself.
bool StepBoard::wakes_reporter(std::int64_t step) {
  const auto now = std::chrono::steady_clock::now();
  const bool many = (step - next_) * 2 >= static_cast<std::int64_t>(entries_.size());
  if (step + 1 < end_ && !many && now - woken_ < pause) return false;
  woken_ = now;
  return true;
}

const StepRecord* StepBoard::next() {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return closed_ || next_ >= end_ || entry(next_).finished == parts_; };
  while (!reporter_.wait_for(lock, 10 * pause, ready)) {
  }
  if (closed_) throw ChannelClosed();
  return next_ >= end_ ? nullptr : &entry(next_).record;
}

const StepRecord* StepBoard::try_next() {
  const std::lock_guard lock(mutex_);
  return next_ < end_ && entry(next_).finished == parts_ ? &entry(next_).record : nullptr;
}

void StepBoard::pop() {
  const std::lock_guard lock(mutex_);
  Entry& e = entry(next_++);
  e.deposited = e.finished = 0;
  workers_.notify_all();
}

void StepBoard::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  notify_all();
}

}  // namespace pipetrain
