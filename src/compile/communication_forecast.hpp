// What a training will send, worked out from its program and its packets: the same bytes and
// messages that its workers count (program/communication.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "compile/compiled_pipeline.hpp"
#include "program/communication.hpp"

namespace pipetrain {

class CommunicationForecast {
 public:
  explicit CommunicationForecast(const CompiledPipeline& pipeline);  // which outlives it
  // For `program`, which is one of the pipeline's.
  CommunicationForecast(const CompiledPipeline& pipeline, const Program& program);

  // For `count` mini-batches that begin and end drained; `size_of` gives the size of the k-th.
  Communication segment(std::int64_t count,
                        const std::function<MinibatchSize(std::int64_t)>& size_of);
  // The shortest period that repeats: until every replica has had its turn, with mini-batches of
  // the training's largest size.
  struct Period {
    std::int64_t minibatches = 1, samples = 0;  // samples of each
    Communication communication;
  };
  Period period();
  // How long an update of the stage waits for links: for the sums of its copies' gradients and, if
  // it shares parameters, of theirs. 0: there is no link.
  double sums_seconds(StageId stage) const;

 private:
  struct Known {
    MinibatchSize size;
    int turn = 0;
    Communication messages;
  };
  const Communication& messages(const MinibatchSize& size, int turn);
  Communication crossing(const MinibatchSize& size, int turn);
  struct PacketOf {
    int boundary = 0;
    bool gradient = false;
    int samples = 0;
    Lengths lengths;
    auto operator<=>(const PacketOf&) const = default;
  };
  std::int64_t packet_bytes(const PacketOf& packet);
  std::int64_t gradients_together_bytes(int boundary, const MinibatchSize& size);
  int samples_of(const MinibatchSize& size, int microbatch) const;
  void add_message(StageVolumes& to, Volume StageVolumes::*kind, std::int64_t bytes) const;
  std::int64_t gradient_bytes(StageId stage) const;
  struct Ring {
    StageId owner;
    std::int64_t bytes = 0;
    int members = 1;
  };
  std::vector<Ring> tied_rings() const;
  void add_all_reduces(std::int64_t count, Communication& all) const;
  void add_tied(std::int64_t count, Communication& all) const;
  void add_ring(StageVolumes& to, Volume StageVolumes::*kind, std::int64_t bytes, int members,
                std::int64_t times, int rings) const;
  std::int64_t updates(StageId stage, std::int64_t minibatches) const;

  const CompiledPipeline& pipeline_;
  const Program& program_;
  const std::optional<LinkRate> link_;
  std::vector<Known> known_;
  std::map<PacketOf, std::int64_t> packets_;  // those whose bytes are known
};

}  // namespace pipetrain
