// Counts and indices that must not be mixed up: each is a type of its own.
//
// An Id names one thing among its kind and starts at 0. A `Version` is a count: how many updates
// a stage's weights have seen since the program began (docs/glossary.md).
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace pipetrain {

template <class Tag>
struct Id {
  int value = 0;
  constexpr auto operator<=>(const Id&) const = default;
};

using WorkerId = Id<struct WorkerTag>;  // one thread, process or device that runs instructions
using StageId = Id<struct StageTag>;    // one contiguous part of the model
using MicrobatchId =
    Id<struct MicrobatchTag>;  // counted from the start of a program, over all its mini-batches
using MinibatchId = Id<struct MinibatchTag>;  // counted from the start of a program
using Version = Id<struct VersionTag>;
using LayerId = Id<struct LayerTag>;  // index into Graph::layers
using ValueId = Id<struct ValueTag>;  // 0 is the graph's input, i + 1 the output of layer i

using SampleId = std::int64_t;  // index of a sample in its data set

}  // namespace pipetrain

template <class Tag>
struct std::hash<pipetrain::Id<Tag>> {
  std::size_t operator()(const pipetrain::Id<Tag>& id) const noexcept {
    return std::hash<int>{}(id.value);
  }
};
