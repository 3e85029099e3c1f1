#include "stage/statistics_log.hpp"

#include <algorithm>
#include <variant>

#include "base/bytes_of.hpp"
#include "base/check.hpp"
#include "graph/layer.hpp"

namespace pipetrain {
namespace {

// The share of a running statistic that is left after a micro-batch.
double kept_share(const Layer& layer) {
  const auto* norm = std::get_if<BatchNorm>(&layer.spec);
  PIPETRAIN_CHECK(norm, "layer '{}' has buffers that no micro-batch moves", layer.name);
  return 1 - norm->momentum;
}

}  // namespace

StatisticsLog::StatisticsLog(Stream& stream, std::span<const Layer> layers, int microbatches,
                             StageMemory& memory)
    : stream_(stream), layers_(layers.data()) {
  if (statistics_bytes(layers) == 0) return;
  for (int m = 0; m < microbatches; ++m) {
    Entry& entry = entries_.emplace_back();
    for (const Layer& layer : layers) {
      auto& buffers = entry.buffers.emplace_back();
      for (const Buffer& buffer : layer.buffers)
        buffers.push_back(memory.take(Use::Weights, bytes_of<float>(buffer.shape.elements())));
    }
  }
}

void StatisticsLog::open(const RandomKey& microbatch) {
  const auto entry = std::ranges::find(entries_, false, &Entry::taken);
  PIPETRAIN_CHECK(entry != entries_.end(), "more micro-batches wait for an update than counted");
  open_ = &*entry;
  open_->step = microbatch.step;
  open_->microbatch = microbatch.microbatch;
  open_->taken = true;
  for (std::size_t l = 0; l < open_->buffers.size(); ++l)
    for (std::size_t b = 0; b < open_->buffers[l].size(); ++b)
      stream_.clear(open_->buffers[l][b], bytes_of<float>(layers_[l].buffers[b].shape.elements()));
}

void StatisticsLog::apply(const Entry& entry, std::span<const std::vector<void*>> running,
                          Stream& stream) const {
  for (std::size_t l = 0; l < entry.buffers.size(); ++l)
    for (std::size_t b = 0; b < running[l].size(); ++b) {
      auto* const statistics = static_cast<float*>(running[l][b]);
      stream.combine({.elements = layers_[l].buffers[b].shape.elements(),
                      .result = statistics,
                      .a = kept_share(layers_[l]),
                      .b = 1,
                      .x = statistics,
                      .y = static_cast<const float*>(entry.buffers[l][b])});
    }
}

std::size_t statistics_bytes(std::span<const Layer> layers) {
  std::size_t bytes = 0;
  for (const Layer& layer : layers)
    for (const Buffer& buffer : layer.buffers) bytes += bytes_of<float>(buffer.shape.elements());
  return bytes;
}

}  // namespace pipetrain
