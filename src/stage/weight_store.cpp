#include "stage/weight_store.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
WeightStore::WeightStore(const WeightStoreInput& input, StageMemory& memory)
    : lowering_(input.lowering), stream_(input.stream), first_(input.first), copies_(input.copies) {
  for (int l = input.first.value; l <= input.last.value; ++l) {
    const Layer& layer = input.graph.layers[l];
    trains_.push_back(layer.trains());
    bytes_.emplace_back();
    for (std::size_t p = 0; p < layer.parameters.size(); ++p)
      bytes_.back().push_back(lowering_.parameter_bytes({l}, static_cast<int>(p)));
  }
  for (Copy& copy : copies_) copy = take_copy(memory);
  if (input.mixes) mixed_ = take_copy(memory);
}

WeightStore::Copy WeightStore::take_copy(StageMemory& memory) const {
  Copy copy;
  for (std::size_t l = 0; l < bytes_.size(); ++l) {
    const LayerId id{first_.value + static_cast<int>(l)};
    if (!trains_[l] && !copies_.front().empty()) {
      copy.push_back(copies_.front()[l]);
      continue;
    }
    LayerWeights& weights = copy.emplace_back();
    for (const std::size_t bytes : bytes_[l])
      weights.parameters.push_back(memory.take(Use::Weights, bytes));
    weights.packed_forward = memory.take(Use::Weights, lowering_.packed_bytes(id, Pass::Forward));
    weights.packed_backward = memory.take(Use::Weights, lowering_.packed_bytes(id, Pass::Backward));
  }
  return copy;
}

void WeightStore::begin() {
  origin_ = (origin_ + live_.value) % copies();
  live_ = {0};
  mixed_read_.reset();
}

const WeightStore::Copy& WeightStore::copy(Version version) const {
  return copies_[(origin_ + version.value) % copies()];
}

float* WeightStore::at(Version version, int layer, int p) const {
  const auto& parameters = copy(version)[layer].parameters;
  return static_cast<float*>(const_cast<void*>(parameters[p]));
}

std::size_t WeightStore::elements(int layer, int p) const {
  return bytes_[layer][p] / sizeof(float);
}

Weights WeightStore::read(int layer, Pass pass, const WeightRead& read) const {
  const int version = read.version.value;
  const auto weights_of = [&](const Copy& copy) -> Weights {
    const LayerWeights& weights = copy[layer];
    return {weights.parameters,
            pass == Pass::Forward ? weights.packed_forward : weights.packed_backward};
  };
  if (!std::holds_alternative<AsStored>(read.how)) {
    PIPETRAIN_CHECK(holds_mixed(read), "mixed weights are read that were not made");
    return weights_of(mixed_);
  }
  PIPETRAIN_CHECK(version <= live_.value && version > live_.value - copies() && version >= 0,
                  "version {} is read while {} is live and {} are kept", version, live_.value,
                  copies());
  return weights_of(copy(read.version));
}

float* WeightStore::mixed_parameter(int layer, int p) {
  const auto& parameters = mixed_[layer].parameters;
  return static_cast<float*>(const_cast<void*>(parameters[p]));
}

void WeightStore::set_mixed(const WeightRead& read) {
  mixed_read_ = read;
  pack_trained(mixed_);
}

void WeightStore::advance(LayerWatch* watch) {
  ++live_.value;
  pack_trained(copy(live_), watch);
}

void WeightStore::pack() {
  const Copy& live = copy(live_);
  for (std::size_t l = 0; l < live.size(); ++l) pack(live, l, nullptr);
}

void WeightStore::pack_trained(const Copy& copy, LayerWatch* watch) {
  for (std::size_t l = 0; l < copy.size(); ++l)
    if (trains_[l]) pack(copy, l, watch);
}

void WeightStore::pack(const Copy& copy, std::size_t layer, LayerWatch* watch) {
  const LayerId id{first_.value + static_cast<int>(layer)};
  const LayerWeights& weights = copy[layer];
  if (!weights.packed_forward && !weights.packed_backward) return;
  watched(watch, stream_, LayerWork::Pack, static_cast<int>(layer), [&] {
    if (weights.packed_forward)
      lowering_.pack(stream_, id, Pass::Forward, weights.parameters, weights.packed_forward);
    if (weights.packed_backward)
      lowering_.pack(stream_, id, Pass::Backward, weights.parameters, weights.packed_backward);
  });
}

}  // namespace pipetrain
