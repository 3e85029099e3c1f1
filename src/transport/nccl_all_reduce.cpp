#include "transport/nccl_all_reduce.hpp"

#include <algorithm>
#include <array>

#include "base/check.hpp"
#include "base/clock.hpp"
#include "base/error.hpp"

namespace pipetrain {
namespace {

NcclMeeting meeting_of(const NcclAllReduceOptions& o) {
  return {
      .calls = o.calls,
      .ids = o.ids,
      .stream = o.transfer,
      .name = fmt::format("stage{}-gradients", o.stage),
      .carries = fmt::format("sum of stage {}'s gradients over {} replicas, of which this is {}",
                             o.stage, o.replicas, o.replica),
      .rank = o.replica,
      .ranks = o.replicas,
      .seconds_max = o.seconds_max,
      .given_up = o.given_up};
}

// Two numbers below 4096 that differ if the lists do, except for a chance in millions: sums of them
// over up to 4096 ranks are exact in f32.
std::array<float, 2> digest(std::span<const GradientBuffer> buffers) {
  std::uint64_t hash = 14695981039346656037u;
  for (const GradientBuffer& b : buffers)
    for (auto left = static_cast<std::uint64_t>(b.elements) * 2 + 1; left; left >>= 8)
      hash = (hash ^ (left & 255)) * 1099511628211u;
  return {static_cast<float>(hash >> 52), static_cast<float>(hash >> 40 & 4095)};
}

}  // namespace

NcclAllReduce::NcclAllReduce(const NcclAllReduceOptions& o)
    : buffers_(o.buffers),
      replicas_(o.replicas),
      compute_(*o.compute),
      transfer_(*o.transfer),
      handle_(o.transfer_handle),
      communicator_(meeting_of(o)),
      ready_(compute_.make_fence()),
      done_(transfer_.make_fence()) {
  PIPETRAIN_CHECK(!buffers_.empty() && replicas_ <= 4096, "sums of nothing, or over too many");
  meet();
}

// The owner of the gradients releases them next, so wait for sums that are under way, up to a
// limit.
NcclAllReduce::~NcclAllReduce() {
  if (begun_) ended();
}

bool NcclAllReduce::ended() noexcept {
  return communicator_.ends([this] { return done_->passed(); }, *done_);
}

// If the digests of all replicas are equal, their sum is this many times one's own.
void NcclAllReduce::meet() {
  const std::array<float, 2> mine = digest(buffers_);
  struct Memory {
    NcclAllReduce& sums;
    float* device = static_cast<float*>(sums.transfer_.allocate(64));
    float* host = static_cast<float*>(sums.transfer_.allocate_results(64));
    ~Memory() {
      if (!sums.ended()) return;  // the memory is left to work that does not end
      sums.transfer_.release_results(host);
      sums.transfer_.release(device);
    }
  } memory{*this};
  std::ranges::copy(mine, memory.host);
  transfer_.copy(memory.device, memory.host, sizeof mine);
  const GradientBuffer both{memory.device, 2};
  issue({&both, 1});
  transfer_.copy(memory.host, memory.device, sizeof mine);
  transfer_.record(*done_);
  communicator_.wait(*done_, issued_ns_);
  for (std::size_t i = 0; i < mine.size(); ++i)
    if (memory.host[i] != mine[i] * static_cast<float>(replicas_))
      throw DeviceError(
          "the replicas of a stage have different parameters; all processes must run the same "
          "pipetrain with the same configuration");
}

void NcclAllReduce::begin() {
  communicator_.require_whole();
  PIPETRAIN_CHECK(!begun_, "sums that are under way begin again");
  compute_.record(*ready_);
  transfer_.wait(*ready_);
  begun_ = true;
  issue(buffers_);
  transfer_.record(*done_);
}

void NcclAllReduce::issue(std::span<const GradientBuffer> buffers) {
  issued_ns_ = now_ns();
  communicator_.issue([&](NcclCalls& calls, NcclCalls::Communicator communicator) {
    NcclState worst = calls.begin_group();
    const auto note = [&worst](NcclState state) {
      if (worst != NcclState::Failed && state != NcclState::Done) worst = state;
    };
    for (const GradientBuffer& b : buffers)
      if (worst != NcclState::Failed) note(calls.sum(communicator, b.values, b.elements, handle_));
    note(calls.end_group());
    return worst;
  });
}

bool NcclAllReduce::can_finish() const {
  return done_->passed() || communicator_.broken(issued_ns_);
}

void NcclAllReduce::finish() {
  PIPETRAIN_CHECK(begun_, "sums that have not begun");
  communicator_.wait(*done_, issued_ns_);
  begun_ = false;
  compute_.wait(*done_);
}

}  // namespace pipetrain
