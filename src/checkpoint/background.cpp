#include "checkpoint/background.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "base/start_thread.hpp"
#include "checkpoint/atomic_file.hpp"

namespace pipetrain {
namespace {

// Writes a checkpoint, points `latest` and `best` to it, and removes those that need not be kept.
Saved save_and_prune(const SaveRule& rule, Snapshot snapshot) {
  const auto start = std::chrono::steady_clock::now();
  if (rule.before_commit) rule.before_commit();
  const Progress progress = snapshot.manifest.progress;
  const std::string name = checkpoint_name(progress.step);
  Saved saved{progress.step, rule.checkpoints / name, 0, 0};
  saved.bytes = save_checkpoint(rule.checkpoints, std::move(snapshot));
  write_file(rule.checkpoints / "latest", name + "\n");
  KeepRule keep{rule.keep_latest, std::nullopt};
  if (rule.keep_best && progress.best) {
    keep.best = progress.best->step;
    if (progress.best->step == progress.step) write_file(rule.checkpoints / "best", name + "\n");
  }
  prune_checkpoints(rule.checkpoints, keep);
  saved.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return saved;
}

}  // namespace

struct BackgroundSaver::Impl {
  explicit Impl(SaveRule r) : rule(std::move(r)), thread(start_thread([this] { work(); })) {}
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      ends = true;
      changed.notify_all();
    }
    thread.join();
  }

  void work() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [&] { return ends || next; });
      if (!next) return;
      Snapshot snapshot = std::move(*next);
      lock.unlock();
      std::optional<Saved> saved;
      std::exception_ptr met;
      try {
        saved = save_and_prune(rule, std::move(snapshot));
      } catch (...) {
        met = std::current_exception();
      }
      lock.lock();
      if (saved) done.push_back(std::move(*saved));
      if (met && !failure) failure = met;
      next.reset();
      changed.notify_all();
      if (failure) return;
    }
  }

  void rethrow() const {
    if (failure) std::rethrow_exception(failure);
  }

  const SaveRule rule;
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Snapshot> next;  // from the hand-over until it is committed
  std::deque<Saved> done;
  std::exception_ptr failure;
  bool ends = false;
  std::thread thread;
};

BackgroundSaver::BackgroundSaver(SaveRule rule) : impl_(std::make_unique<Impl>(std::move(rule))) {}
BackgroundSaver::~BackgroundSaver() = default;

void BackgroundSaver::save(Snapshot snapshot) {
  wait();
  const std::lock_guard lock(impl_->mutex);
  impl_->next = std::move(snapshot);
  impl_->changed.notify_all();
}

std::optional<Saved> BackgroundSaver::committed() {
  const std::lock_guard lock(impl_->mutex);
  impl_->rethrow();
  if (impl_->done.empty()) return std::nullopt;
  Saved saved = std::move(impl_->done.front());
  impl_->done.pop_front();
  return saved;
}

void BackgroundSaver::wait() {
  std::unique_lock lock(impl_->mutex);
  impl_->changed.wait(lock, [&] { return !impl_->next; });
  impl_->rethrow();
}

}  // namespace pipetrain
