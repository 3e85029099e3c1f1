// How devices of different ranks work together: by NCCL, whose ids cross in the job's notes.
//
// All ranks must make their channels and sums in the same order: each waits for the ranks at the
// other end.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "backend/backend.hpp"
#include "stage/stage.hpp"
#include "transport/job.hpp"
#include "transport/nccl_all_reduce.hpp"
#include "transport/nccl_calls.hpp"
#include "transport/nccl_channel.hpp"

namespace pipetrain {

// Streams of a GPU that do not hold up each other, at most: see CUDA_DEVICE_MAX_CONNECTIONS.
inline constexpr int device_queues_max = 32;

class DeviceRanks {
 public:
  // Both outlive it. `stages`: of this rank, each with a stream of its own. DeviceError in a build
  // without NCCL.
  DeviceRanks(Job& job, Backend& backend, int stages);

  struct Cut {  // see NcclChannelOptions
    int boundary = 0, lane = 0;
    bool gradients = false, evaluates = false;
    int from_rank = 0, to_rank = 0;
    std::size_t packet_bytes = 0;
  };
  // This rank's end of a channel from or to `stage`. `packets`: nccl_packet_memory() each, in the
  // stage's memory. The channel must not outlive this object or the stage. UsageError if there are
  // more streams then than queues.
  std::unique_ptr<Channel> make_end(Stage& stage, const Cut& cut, const ChannelOptions& packets);

  // The sum of a stage's gradients over its copies, each on a rank of its own; `stage` is the copy
  // of that number. Must not outlive this object or the stage. Null if it trains nothing.
  std::unique_ptr<NcclAllReduce> make_sum(Stage& stage, int copy, int copies);

 private:
  Stream& transfer_of(const Stage& stage, const std::string& use);
  std::function<bool()> given_up() const;

  Job& job_;
  Backend& backend_;
  const int stages_;
  const std::unique_ptr<NcclCalls> calls_;
  const std::unique_ptr<IdExchange> ids_;
  // By what they carry: training and evaluation, which never run together, share them.
  std::map<std::string, std::unique_ptr<Stream>> transfers_;
};

}  // namespace pipetrain
