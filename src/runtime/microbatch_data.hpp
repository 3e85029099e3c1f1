// A micro-batch's part of what the loader read for its mini-batch.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "backend/backend.hpp"
#include "base/check.hpp"
#include "compile/microbatch_size.hpp"
#include "data/loader.hpp"
#include "transport/channel.hpp"

namespace pipetrain {

// Where a sample's part of a mini-batch's values begins.
template <class Values>
auto from_sample(const Values& values, const MiniBatch& batch, int sample) {
  return values.data() + static_cast<std::size_t>(sample) * (values.size() / batch.ids.size());
}

inline const void* inputs_of(const MiniBatch& batch, const SamplePart& part) {
  if (!batch.tokens.empty()) return from_sample(batch.tokens, batch, part.first);
  return from_sample(batch.inputs, batch, part.first);
}

inline Targets targets_of(const MiniBatch& batch, const SamplePart& part) {
  if (!batch.classes.empty()) return {.classes = from_sample(batch.classes, batch, part.first)};
  return {.values = from_sample(batch.values, batch, part.first)};
}

inline std::span<const SampleId> ids_of(const MiniBatch& batch, const SamplePart& part) {
  return std::span(batch.ids).subspan(static_cast<std::size_t>(part.first),
                                      static_cast<std::size_t>(part.count));
}

// Inputs came through the pipeline, and labels from the loader: they must belong to the same
// samples.
inline void check_samples(const Packet& packet, const MiniBatch& batch, const SamplePart& part) {
  PIPETRAIN_CHECK(std::ranges::equal(packet.ids, ids_of(batch, part)),
                  "outputs and labels are of different samples");
}

}  // namespace pipetrain
