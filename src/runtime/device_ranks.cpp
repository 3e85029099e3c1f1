#include "runtime/device_ranks.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "transport/job_ids.hpp"

namespace pipetrain {
namespace {

// A slow rank that lives is not given up: the job says when one is gone, NCCL when its network is.
constexpr double seconds_max = std::numeric_limits<double>::infinity();

int device_queues() {  // the verbs set the variable, unless the user has
  const char* const connections = std::getenv("CUDA_DEVICE_MAX_CONNECTIONS");
  if (!connections) return device_queues_max;
  return std::clamp(std::atoi(connections), 1, device_queues_max);
}

}  // namespace

DeviceRanks::DeviceRanks(Job& job, Backend& backend, int stages)
    : job_(job),
      backend_(backend),
      stages_(stages),
      calls_(make_nccl_calls()),
      ids_(make_job_ids(job)) {}

Stream& DeviceRanks::transfer_of(const Stage& stage, const std::string& use) {
  auto& stream = transfers_[use];
  if (stream) return *stream;
  const int streams = stages_ + static_cast<int>(transfers_.size());
  if (const int queues = device_queues(); streams > queues)
    throw UsageError(fmt::format(
        "hardware.backend = \"cuda\": rank {} needs a stream for each of its stages and each "
        "transfer, more than the {} that CUDA_DEVICE_MAX_CONNECTIONS allows, and one that waits "
        "could hold up another; {}",
        job_.rank(), queues,
        queues < device_queues_max ? "leave that variable unset"
                                   : "start more processes, or use fewer virtual stages"));
  stream = backend_.make_stream(stage.where());
  return *stream;
}

std::function<bool()> DeviceRanks::given_up() const {
  return [&job = job_] { return job.failed(); };
}

std::unique_ptr<Channel> DeviceRanks::make_end(Stage& stage, const Cut& cut,
                                               const ChannelOptions& packets) {
  Stream& transfer = transfer_of(stage, fmt::format("cut {}, lane {}, {}", cut.boundary, cut.lane,
                                                    cut.gradients ? "gradients" : "activations"));
  const NcclChannelOptions options{.packets = packets,
                                   .packet_bytes = cut.packet_bytes,
                                   .calls = calls_.get(),
                                   .ids = ids_.get(),
                                   .compute = &stage.stream(),
                                   .transfer = &transfer,
                                   .transfer_handle = transfer.native_handle(),
                                   .boundary = cut.boundary,
                                   .lane = cut.lane,
                                   .gradients = cut.gradients,
                                   .evaluates = cut.evaluates,
                                   .from_rank = cut.from_rank,
                                   .to_rank = cut.to_rank,
                                   .seconds_max = seconds_max,
                                   .given_up = given_up()};
  if (job_.rank() == cut.from_rank) return make_nccl_sender(options);
  return make_nccl_receiver(options);
}

std::unique_ptr<NcclAllReduce> DeviceRanks::make_sum(Stage& stage, int copy, int copies) {
  Stream& transfer = transfer_of(stage, fmt::format("sums of stage {}", stage.id().value));
  NcclAllReduceOptions options{.calls = calls_.get(),
                               .ids = ids_.get(),
                               .compute = &stage.stream(),
                               .transfer = &transfer,
                               .transfer_handle = transfer.native_handle(),
                               .stage = stage.id().value,
                               .replica = copy,
                               .replicas = copies,
                               .buffers = {},
                               .seconds_max = seconds_max,
                               .given_up = given_up()};
  for (int p = 0; p < stage.parameters(); ++p) {
    const std::span<float> gradient = stage.gradient(p);
    if (!gradient.empty()) options.buffers.push_back({gradient.data(), std::ssize(gradient)});
  }
  if (options.buffers.empty()) return nullptr;
  return std::make_unique<NcclAllReduce>(options);
}

}  // namespace pipetrain
