#include "data/loader.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "base/batch_scheduling.hpp"
#include "base/check.hpp"
#include "base/start_thread.hpp"
#include "data/reading_threads.hpp"
#include "graph/loss.hpp"

namespace pipetrain {

namespace {

// One place of the ring: mini-batch `step` uses slot step % depth.
struct Slot {
  MiniBatch batch;
  bool ready = false;  // made, and not yet released by every reader
  int readers_left = 0;
  std::vector<std::thread::id> holders;  // those that got it and have not released it
};

}  // namespace

struct Loader::Impl {
  Impl(const Dataset& data, const LoaderOptions& o, int reader_count)
      : dataset(data),
        options(o),
        readers(reader_count),
        reader_threads(o.reader_threads > 0 ? o.reader_threads : reader_count),
        order(data.order(o.order)),
        reading(data.reading_threads()),
        next(o.first_step),
        slots(static_cast<std::size_t>(std::max(o.depth, 1))) {
    PIPETRAIN_CHECK(o.depth > 0 && reader_count >= 0 && o.first_step >= 0,
                    "depth {}, {} readers, first mini-batch {}", o.depth, reader_count,
                    o.first_step);
    if (readers == 0) return;
    for (Slot& slot : slots) reserve(slot);
    producer = start_thread([this] { produce(); });
  }
  ~Impl() {
    close();
    if (producer.joinable()) producer.join();
    std::unique_lock lock(mutex);  // threads woken by close() must leave first
    changed.wait(lock, [&] { return inside == 0; });
  }

  void reserve(Slot& slot) {
    slot.holders.reserve(readers);
    for (const MinibatchSize& size : order->sizes()) resize(slot.batch, size);
  }

  void resize(MiniBatch& batch, const MinibatchSize& size) const {
    const bool tokens = dataset.input_shape().vocabulary > 0, classes = dataset.classes() > 0;
    const auto samples = static_cast<std::size_t>(size.samples);
    batch.samples = static_cast<int>(samples);
    batch.lengths = size.lengths;
    batch.ids.resize(samples);
    batch.inputs.resize(tokens || !options.inputs ? 0 : samples * input_elements(size.lengths));
    batch.tokens.resize(tokens ? samples * input_elements(size.lengths) : 0);
    batch.classes.resize(classes ? samples * labels(size.lengths) : 0);
    batch.values.resize(classes ? 0 : samples * target_elements());
  }
  std::size_t input_elements(const Lengths& lengths) const {
    const std::int64_t tokens = lengths.source + lengths.target;
    return static_cast<std::size_t>(tokens > 0 ? tokens : dataset.input_shape().elements());
  }
  std::size_t labels(const Lengths& lengths) const {
    return static_cast<std::size_t>(lengths.target > 0 ? lengths.target : dataset.labels());
  }
  std::size_t target_elements() const {
    return static_cast<std::size_t>(dataset.target_shape().elements());
  }
  // Where to read sample number i of a mini-batch to.
  Sample place(MiniBatch& batch, std::size_t i) const {
    const auto at = [i](auto& values, std::size_t each) {
      return values.empty() ? nullptr : values.data() + i * each;
    };
    return {.input = at(batch.inputs, input_elements(batch.lengths)),
            .tokens = at(batch.tokens, input_elements(batch.lengths)),
            .classes = at(batch.classes, labels(batch.lengths)),
            .values = at(batch.values, target_elements())};
  }

  Slot& slot_of(std::int64_t step) { return slots[step % static_cast<std::int64_t>(slots.size())]; }
  std::int64_t end() const {
    return options.repeat ? std::numeric_limits<std::int64_t>::max() : order->steps_per_epoch();
  }

  // ---- the producer's side
  void produce() {
    const BatchScheduling works_ahead;
    while (true) {
      std::unique_lock lock(mutex);
      if (next >= end()) return;
      Slot& slot = slot_of(next);
      changed.wait(lock, [&] { return closed || !slot.ready; });
      if (closed) return;
      if (const auto at = skipped.find(next); at != skipped.end() && at->second == readers) {
        skipped.erase(at);
        ++next;
        announce();
        continue;
      }
      lock.unlock();
      std::exception_ptr error;
      try {
        if (!fill(slot.batch, next)) return;
      } catch (...) {
        error = std::current_exception();
      }
      lock.lock();
      if (error) {
        failure = error;
      } else {
        const auto at = skipped.find(next);
        slot.readers_left = at == skipped.end() ? readers : readers - at->second;
        slot.ready = slot.readers_left > 0;
        skipped.erase(next);
        ++next;
      }
      announce();
      if (error) return;
    }
  }

  // False if the loader was closed meanwhile.
  bool fill(MiniBatch& batch, std::int64_t step) {
    const auto [lengths, ids] = order->of(step);
    batch.step = step;
    resize(batch, {std::ssize(ids), lengths});
    batch.ids.assign(ids.begin(), ids.end());
    const bool whole = reading.run(ids.size(), closed, [&batch, this](std::size_t i) {
      dataset.read({.index = batch.ids[i], .step = batch.step, .lengths = batch.lengths},
                   place(batch, i));
    });
    if (whole) batch.labels = count_labels(batch, 0, batch.samples);
    return whole;
  }

  // ---- the readers' side
  const MiniBatch& get(std::int64_t step) {
    std::unique_lock lock(mutex);
    const Visit visit(*this);
    PIPETRAIN_CHECK(step >= options.first_step && step < end(),
                    "mini-batch {} was asked for; this loader makes {} to {}", step,
                    options.first_step, end() - 1);
    while (!closed) {
      if (step < next) {
        Slot& slot = slot_of(step);
        PIPETRAIN_CHECK(slot.ready && slot.batch.step == step,
                        "mini-batch {} was asked for, but every reader has released it", step);
        hold(slot);
        return slot.batch;
      }
      if (failure) std::rethrow_exception(failure);
      wait_for_change(lock, step);
    }
    throw LoaderClosed();
  }

  // Mini-batch `step` is not made yet. If the producer is blocked, a slot must be released first:
  // throws if no thread is left to do that.
  void wait_for_change(std::unique_lock<std::mutex>& lock, std::int64_t step) {
    const Slot& blocking = slot_of(next);
    if (blocking.ready) {
      PIPETRAIN_CHECK(!holds(blocking),
                      "mini-batch {} waits for the release of {} by this very thread", step,
                      blocking.batch.step);
      PIPETRAIN_CHECK(
          blocked + 1 < reader_threads,
          "mini-batch {} waits for the release of {}, and no reader is left to do it: {} "
          "mini-batches are too few",
          step, blocking.batch.step, slots.size());
      ++blocked;
    }
    const std::uint64_t seen = changes;
    changed.wait(lock, [&] { return changes != seen; });
  }

  bool holds(const Slot& slot) const {
    return std::find(slot.holders.begin(), slot.holders.end(), std::this_thread::get_id()) !=
           slot.holders.end();
  }
  void hold(Slot& slot) {
    if (!holds(slot)) slot.holders.push_back(std::this_thread::get_id());
  }

  void release(std::int64_t step) {
    const std::lock_guard lock(mutex);
    PIPETRAIN_CHECK(step >= options.first_step, "mini-batch {} was released", step);
    Slot& slot = slot_of(step);
    PIPETRAIN_CHECK(slot.ready && slot.batch.step == step,
                    "mini-batch {} was released more than {} times, or was never made", step,
                    readers);
    std::erase(slot.holders, std::this_thread::get_id());
    if (--slot.readers_left > 0) return;
    slot.holders.clear();
    slot.ready = false;
    announce();
  }

  void skip(std::int64_t step) {
    {
      const std::lock_guard lock(mutex);
      if (step >= next) {
        int& count = skipped[step];
        PIPETRAIN_CHECK(count < readers, "mini-batch {} was skipped more than {} times", step,
                        readers);
        ++count;
        return;
      }
    }
    release(step);
  }

  void close() noexcept {
    const std::lock_guard lock(mutex);
    closed = true;
    announce();
  }

  // Call with the lock held: waiting threads look again, and count themselves as blocked again if
  // they are.
  void announce() noexcept {
    ++changes;
    blocked = 0;
    changed.notify_all();
  }

  // A thread inside get().
  struct Visit {
    explicit Visit(Impl& visited) : impl(visited) { ++impl.inside; }
    ~Visit() {
      if (--impl.inside == 0 && impl.closed) impl.changed.notify_all();
    }
    Impl& impl;
  };

  const Dataset& dataset;
  const LoaderOptions options;
  const int readers, reader_threads;
  const std::unique_ptr<MinibatchOrder> order;  // used by the producer only
  ReadingThreads reading;                       // used by the producer only

  std::mutex mutex;  // protects everything below, except a mini-batch's contents while it is made
                     // or read
  std::condition_variable changed;
  std::uint64_t changes = 0;  // to `next`, a slot's `ready`, `failure` or `closed`
  std::int64_t next;          // the mini-batch being made
  std::vector<Slot> slots;
  std::map<std::int64_t, int> skipped;  // how many readers skipped a mini-batch before it was made
  std::exception_ptr failure;
  std::atomic<bool> closed = false;  // also read without the lock, between two samples
  int blocked = 0;  // readers that have found, since the last change, that they wait for a release
  int inside = 0;
  std::thread producer;
};

std::int64_t count_labels(const MiniBatch& batch, int first, int count) {
  if (batch.classes.empty()) return count;
  const auto each = std::ssize(batch.classes) / batch.samples;
  const auto from = batch.classes.begin() + first * each;
  return count * each - std::count(from, from + count * each, kNoLabel);
}

Loader::Loader(const Dataset& dataset, const LoaderOptions& options, int readers)
    : impl_(std::make_unique<Impl>(dataset, options, readers)) {}
Loader::~Loader() = default;

std::int64_t Loader::steps_per_epoch() const { return impl_->order->steps_per_epoch(); }
const MiniBatch& Loader::get(std::int64_t step) { return impl_->get(step); }
void Loader::release(std::int64_t step) { impl_->release(step); }
void Loader::skip(std::int64_t step) { impl_->skip(step); }
void Loader::close() noexcept { impl_->close(); }

}  // namespace pipetrain
