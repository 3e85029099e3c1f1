// CUDA's functions for streams and events.
#include "fake_cuda/world.hpp"

using fake_cuda::EventWait;
using fake_cuda::freeing_call;
using fake_cuda::is_open;
using fake_cuda::runtime_call;
using fake_cuda::thread;
using fake_cuda::world;

namespace {

bool is_event(cudaEvent_t event) { return event && world().events.contains(event); }

std::string awaited(cudaEvent_t event) {
  if (!event->mark) return "an event without a record";
  return "stream " + std::to_string(event->mark->queue->ordinal) + ", operation " +
         std::to_string(event->mark->position);
}

// What a thread knows once it has seen a record passed.
void join(fake_cuda::Clock& clock, cudaEvent_t event) { clock.join(event->mark->clock); }

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return runtime_call([&] {
    if (flags != cudaStreamNonBlocking) {
      fake_cuda::found("a stream that is ordered with the default stream is created");
      return cudaErrorInvalidValue;
    }
    *stream = new CUstream_st{world().scheduler.open(thread().device)};
    world().streams.insert(*stream);
    return cudaSuccess;
  });
}

// Work that is still in it runs anyway.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return freeing_call([&] {
    if (!is_open(stream)) return cudaErrorInvalidResourceHandle;
    stream->queue->closed = true;
    world().streams.erase(stream);
    delete stream;
    return cudaSuccess;
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  auto held = fake_cuda::lock();
  if (world().faults.fires()) return fake_cuda::remember(cudaErrorUnknown);
  if (!is_open(stream)) return fake_cuda::remember(cudaErrorInvalidResourceHandle);
  ++world().host_waits;
  fake_cuda::Queue& queue = *stream->queue;
  fake_cuda::wait_for(held, queue, queue.enqueued);
  world().host.join(queue.clock);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return runtime_call([&] {
    if (!is_open(stream) || !is_event(event)) return cudaErrorInvalidResourceHandle;
    if (flags != 0) return cudaErrorInvalidValue;
    const bool ignored = world().faults.ignores_wait();
    const std::string what = awaited(event);
    world().event_waits.push_back(
        {"stream " + std::to_string(stream->queue->ordinal) + " waits for " + what,
         event->mark ? EventWait::Effect::Orders : EventWait::Effect::NeverBefore});
    if (!event->mark || ignored) return cudaSuccess;
    fake_cuda::push(stream, {.what = "wait for " + what,
                             .work = {},
                             .ready = {},
                             .awaited = event->mark,
                             .recorded = {},
                             .host = {},
                             .wait = world().event_waits.size() - 1});
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return runtime_call([&] {
    if (flags & ~unsigned{cudaEventBlockingSync | cudaEventDisableTiming})
      return cudaErrorInvalidValue;
    *event = new CUevent_st{thread().device, !(flags & cudaEventDisableTiming), nullptr};
    world().events.insert(*event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return freeing_call([&] {
    if (!is_event(event)) return cudaErrorInvalidResourceHandle;
    world().events.erase(event);
    delete event;
    return cudaSuccess;
  });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return runtime_call([&] {
    if (!is_event(event) || !is_open(stream)) return cudaErrorInvalidResourceHandle;
    if (event->device != stream->queue->device) return cudaErrorInvalidResourceHandle;
    event->mark = std::make_shared<fake_cuda::Mark>();
    event->mark->queue = stream->queue;
    event->mark->position = stream->queue->enqueued + 1;
    fake_cuda::push(stream, {.what = "record",
                             .work = {},
                             .ready = {},
                             .awaited = {},
                             .recorded = event->mark,
                             .host = {}});
    return cudaSuccess;
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return runtime_call([&] {
    if (!is_event(event)) return cudaErrorInvalidResourceHandle;
    if (!event->mark) return cudaSuccess;
    world().scheduler.poll(*event->mark->queue, event->mark->position);
    if (!event->mark->passed) return cudaErrorNotReady;
    join(thread().host, event);
    return cudaSuccess;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  auto held = fake_cuda::lock();
  if (world().faults.fires()) return fake_cuda::remember(cudaErrorUnknown);
  if (!is_event(event)) return fake_cuda::remember(cudaErrorInvalidResourceHandle);
  ++world().host_waits;
  const auto mark = event->mark;
  if (!mark) return cudaSuccess;
  fake_cuda::wait_for(held, *mark->queue, mark->position);
  world().host.join(mark->clock);
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin, cudaEvent_t end) {
  return runtime_call([&] {
    if (!is_event(begin) || !is_event(end)) return cudaErrorInvalidResourceHandle;
    if (!begin->timed || !end->timed || !begin->mark || !end->mark || begin->device != end->device)
      return cudaErrorInvalidResourceHandle;
    if (!begin->mark->passed || !end->mark->passed) return cudaErrorNotReady;
    *ms = static_cast<float>(end->mark->ns - begin->mark->ns) * 1e-6f;
    return cudaSuccess;
  });
}

}  // extern "C"
