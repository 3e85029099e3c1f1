#include "transport/nccl_communicator.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/channel.hpp"

namespace pipetrain {
namespace {

// Short waits do not sleep, long ones do not use a core.
void pause(int round) {
  if (round < 200) return std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::microseconds(round < 1000 ? 20 : 200));
}

double seconds_since(std::int64_t ns) { return static_cast<double>(now_ns() - ns) * 1e-9; }

constexpr std::int64_t look_every_ns = 1'000'000;  // asking NCCL is slower than asking a fence

constexpr double seconds_to_end = 5;  // after an abort; normally takes milliseconds

NcclId agree(const NcclMeeting& meeting) {
  if (meeting.rank == 0) {
    const NcclId id = meeting.calls->make_id();
    meeting.ids->give(meeting.name, id);
    return id;
  }
  const std::vector<std::byte> blob = meeting.ids->take(meeting.name);
  NcclId id;
  PIPETRAIN_CHECK(blob.size() == id.size(), "id `{}` has {} bytes", meeting.name, blob.size());
  std::memcpy(id.data(), blob.data(), id.size());
  return id;
}

}  // namespace

NcclCommunicator::NcclCommunicator(const NcclMeeting& meeting) : meeting_(meeting) {
  const NcclJoin join{agree(meeting), meeting.rank, meeting.ranks, meeting.ctas_max};
  // NCCL uses the thread's current device, which every call of a stream sets: the last one may have
  // been another stream's, or there was none yet.
  meeting_.stream->make_fence();
  settle(meeting_.calls->join(communicator_, join));
  if (meeting.rank == 0) meeting_.ids->withdraw(meeting_.name);  // all ranks have come
}

NcclCommunicator::~NcclCommunicator() {
  if (!communicator_ || aborted_) return;
  try {
    require_whole();
    settle(meeting_.calls->finalize(communicator_));
    meeting_.calls->destroy(communicator_);
  } catch (const std::exception&) {
    abort();  // does nothing the second time
  }
}

void NcclCommunicator::wait(const Fence& fence, std::int64_t since) {
  require_whole();
  for (int round = 0; !fence.passed(); ++round) {
    if (is_closed()) {
      abort();
      throw ChannelClosed();
    }
    look(since);
    pause(round);
  }
}

bool NcclCommunicator::broken(std::int64_t since) noexcept {
  if (is_closed() || aborted_) return true;
  try {
    look(since);
  } catch (const std::exception&) {  // kept for require_whole()
    return true;
  }
  return false;
}

// Calls that failed half way have no fence recorded after them, so it is recorded once more.
bool NcclCommunicator::ends(const std::function<bool()>& over, Fence& fence) noexcept {
  try {
    if (!aborted_ && !half_way_ && over()) return true;
    abort();
    meeting_.stream->record(fence);
    const std::int64_t since = now_ns();
    for (int round = 0; !fence.passed(); ++round) {
      if (seconds_since(since) >= seconds_to_end) return false;
      pause(round);
    }
    return true;
  } catch (const std::exception&) {  // the device is gone, and its memory with it
    abort();
    return false;
  }
}

void NcclCommunicator::require_whole() const {
  if (is_closed()) throw ChannelClosed();
  if (!failure_.empty()) throw DeviceError(failure_);
}

void NcclCommunicator::abort() noexcept {
  if (aborted_) return;
  aborted_ = true;
  if (communicator_) meeting_.calls->abort(communicator_);
}

// A failure is reported before a timeout: it says more.
void NcclCommunicator::look(std::int64_t since) {
  const std::int64_t now = now_ns();
  if (now - looked_ns_ < look_every_ns) return;
  looked_ns_ = now;
  if (meeting_.calls->state(communicator_) == NcclState::Failed)
    fail(meeting_.calls->reason(communicator_));
  if (seconds_since(since) >= meeting_.seconds_max) fail_late(since);
}

void NcclCommunicator::settle(NcclState state) {
  const std::int64_t since = now_ns();
  for (int round = 0; state == NcclState::Working; ++round) {
    if (is_closed()) {
      abort();
      throw ChannelClosed();
    }
    if (seconds_since(since) >= meeting_.seconds_max) fail_late(since);
    pause(round);
    state = meeting_.calls->state(communicator_);
  }
  if (state == NcclState::Failed) fail(meeting_.calls->reason(communicator_));
}

void NcclCommunicator::fail(const std::string& why) {
  failure_ = fmt::format(
      "NCCL failed with the {}: {}; see what that process reports, and set NCCL_DEBUG=INFO to see "
      "what NCCL does",
      meeting_.carries, why);
  abort();
  throw DeviceError(failure_);
}

void NcclCommunicator::fail_late(std::int64_t since) {
  failure_ = fmt::format(
      "nothing has moved for {:.3g} s (the limit is {:g} s) with the {}: check that the process of "
      "that rank still runs and what it reports, and the network between the two; where a step "
      "may take that long, raise the limit",
      seconds_since(since), meeting_.seconds_max, meeting_.carries);
  abort();
  throw DeviceError(failure_);
}

}  // namespace pipetrain
