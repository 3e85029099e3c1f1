#include "runtime/step_board.hpp"

#include <algorithm>
#include <numeric>

#include "runtime/board_link.hpp"
#include "transport/channel.hpp"

namespace pipetrain {

namespace {

constexpr std::chrono::milliseconds pause(5);  // at least, between two steps that wake the reporter
// Mini-batches that are granted before a worker asks for them: two of the times that a worker
// begins some, but no more than that many mini-batches, since a drain ends after the last one
// granted.
constexpr std::int64_t granted_ahead = 2, most_ahead = 8;

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

struct StepBoard::Early {
  BoardMessage message;
  std::vector<double> sums;
};

StepBoard::~StepBoard() = default;

StepBoard::StepBoard(const Options& options)
    : stages_(options.stages),
      deposits_(options.stages + options.tied),
      drain_(options.drain),
      drained_(options.drained),
      link_(options.link),
      norm_everywhere_(options.norm_everywhere),
      entries_(options.capacity),
      next_(options.first_step),
      begun_(options.first_step),
      end_(options.end),
      granted_(options.first_step),
      asked_(options.first_step) {
  std::vector<int> copies = options.copies;
  copies.resize(stages_, 1);
  parts_ = options.parts_here;
  if (!link_ || link_->leads())
    parts_ = [all = std::accumulate(copies.begin(), copies.end(), 0)](std::int64_t) { return all; };
  for (Entry& e : entries_) {
    e.record.stages.resize(copies.size());
    e.record.sums_of_squares.resize(options.parameters);
    for (const int count : copies) e.parts.emplace_back(static_cast<std::size_t>(count));
  }
}

bool StepBoard::has_room(std::int64_t step) const {
  return step < next_ + static_cast<std::int64_t>(entries_.size());
}
bool StepBoard::is_next_whole() const { return entry(next_).finished == parts_(next_); }
StepBoard::Entry& StepBoard::entry(std::int64_t step) {
  return entries_[static_cast<std::size_t>(step) % entries_.size()];
}
const StepBoard::Entry& StepBoard::entry(std::int64_t step) const {
  return entries_[static_cast<std::size_t>(step) % entries_.size()];
}

void StepBoard::wait(std::unique_lock<std::mutex>& lock, const auto& condition) {
  wait_with(link_ ? &link_->wire_thread() : nullptr, lock, workers_,
            [&] { return closed_ || condition(); });
  if (closed_) throw ChannelClosed();
}

void StepBoard::notify_all() noexcept {
  reporter_.notify_all();
  workers_.notify_all();
}

bool StepBoard::begin(std::int64_t step, std::int64_t count) {
  if (link_) return begin_granted(step, count);
  const std::lock_guard lock(mutex_);
  if (drain_ && drain_->load(std::memory_order_relaxed) && begun_ < end_) {
    end_ = begun_;
    notify_all();
  }
  if (step >= end_) return false;
  begun_ = std::max(begun_, step + count);
  return true;
}

// All ranks' workers begin the same mini-batches at once, so what one asks for is a boundary for
// all. Only the first request of a segment may be for more than those that follow.
bool StepBoard::begin_granted(std::int64_t step, std::int64_t count) {
  std::unique_lock lock(mutex_);
  const bool first = step == begun_;
  const std::int64_t ahead = first ? 0 : std::min(granted_ahead, most_ahead / count) * count,
                     wanted = std::min(end_, step + count + ahead);
  if (wanted > asked_) {
    asked_ = wanted;
    if (link_->leads())
      grant(wanted);
    else
      link_->to_leader({.kind = BoardMessage::Kind::Ask, .step = wanted});
  }
  wait(lock, [&] { return step < granted_ || step >= end_; });
  return step < end_;
}

// On rank 0, under its lock.
void StepBoard::grant(std::int64_t end) {
  if (drain_ && drain_->load(std::memory_order_relaxed) && granted_ < end_)
    end_ = granted_;
  else if (end <= granted_)
    return;
  granted_ = std::max(granted_, std::min(end, end_));
  link_->to_others({.kind = BoardMessage::Kind::Grant, .step = granted_, .end = end_});
  notify_all();
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
  put_sums(step, first_parameter, sums);
  if (!link_) return;
  const BoardMessage message{
      .kind = BoardMessage::Kind::Sums, .first_parameter = first_parameter, .step = step};
  if (norm_everywhere_)
    link_->to_others(message, sums);
  else if (!link_->leads())
    link_->to_leader(message, sums);
}

void StepBoard::put_sums(std::int64_t step, int first_parameter, std::span<const double> sums) {
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
  put_part(step, stage, copy, lr, part);
  if (link_ && !link_->leads())
    link_->to_leader({.kind = BoardMessage::Kind::Finish,
                      .stage = stage.value,
                      .copy = copy,
                      .step = step,
                      .lr = lr,
                      .part = part});
}

void StepBoard::put_part(std::int64_t step, StageId stage, int copy, double lr,
                         const StageStep& part) {
  Entry& e = entry(step);
  e.record.step = step;
  e.record.lr = lr;
  e.parts[stage][copy] = part;
  if (++e.finished < parts_(step)) return;
  for (std::size_t s = 0; s < e.parts.size(); ++s) e.record.stages[s] = together(e.parts[s]);
  if (wakes_reporter(step)) reporter_.notify_all();
}

void StepBoard::hear(const BoardMessage& message, std::span<const double> sums) {
  using Kind = BoardMessage::Kind;
  const std::lock_guard lock(mutex_);
  switch (message.kind) {
    case Kind::Ask:
      return grant(message.step);
    case Kind::Grant:
      granted_ = std::max(granted_, message.step);
      end_ = message.end;
      return notify_all();
    case Kind::Hurry:
      if (drained_) *drained_ = true;
      return;
    case Kind::Sums:
    case Kind::Finish:
      early_.push_back({message, {sums.begin(), sums.end()}});
      return put_early();
  }
}

// Takes over what other ranks have handed in for steps that now have room.
void StepBoard::put_early() {
  for (Early& early : early_) {
    const BoardMessage& m = early.message;
    if (!has_room(m.step)) continue;
    if (m.kind == BoardMessage::Kind::Sums)
      put_sums(m.step, m.first_parameter, early.sums);
    else
      put_part(m.step, {m.stage}, m.copy, m.lr, m.part);
  }
  std::erase_if(early_, [&](const Early& early) { return has_room(early.message.step); });
}

// A step that does not wake it waits for the next one, or until the reporter looks by itself.
bool StepBoard::wakes_reporter(std::int64_t step) {
  const auto now = std::chrono::steady_clock::now();
  const bool many = (step - next_) * 2 >= static_cast<std::int64_t>(entries_.size());
  if (step + 1 < end_ && !many && now - woken_ < pause) return false;
  woken_ = now;
  return true;
}

const StepRecord* StepBoard::next() {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return closed_ || next_ >= end_ || is_next_whole(); };
  while (!reporter_.wait_for(lock, 10 * pause, ready)) {
  }
  if (closed_) throw ChannelClosed();
  return next_ >= end_ ? nullptr : &entry(next_).record;
}

const StepRecord* StepBoard::try_next() {
  const std::lock_guard lock(mutex_);
  return next_ < end_ && is_next_whole() ? &entry(next_).record : nullptr;
}

void StepBoard::pop() {
  const std::lock_guard lock(mutex_);
  Entry& e = entry(next_++);
  e.deposited = e.finished = 0;
  if (link_) put_early();
  workers_.notify_all();
}

void StepBoard::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  notify_all();
}

}  // namespace pipetrain
