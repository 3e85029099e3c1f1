// Blocks of a model file: a named list of layers, written out wherever a layer says `block = "..."`
// instead of a kind.
//
//   [blocks.residual]
//   defaults = { stride = 1 }
//   layers = [ { name = "conv1", kind = "conv2d", out_channels = "$channels", ... }, ... ]
//   [[layers]]
//   name = "layer1"
//   block = "residual"
//   repeat = 2                      # layer1.0.conv1 .. layer1.1.conv1; without it: layer1.conv1
//   with = { channels = 64 }
//   first = { stride = 2 }          # instead, in the first copy
//
// With `first_index = 1` they count from 1: layer1.1.conv1, layer1.2.conv1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/fields.hpp"
#include "graph/model_text.hpp"
#include "graph/problems.hpp"

namespace pipetrain::model_file {

// Per model: a mistake in a (nested) repeat must not fill the memory.
inline constexpr std::int64_t most_layers = 10000;

struct BlockCopy {
  std::string name;  // "layer1.0"
  Table parameters;  // the value of each "$name"
};

struct BlockUse {
  std::string block;
  const List* layers = nullptr;
  std::vector<BlockCopy> copies;
};

// Takes a use's own keys from its table and calls its finish(). `outer` holds the parameters of the
// enclosing block. None if there was a problem.
std::optional<BlockUse> read_block_use(Fields& fields, const std::string& name, const Table& blocks,
                                       const Table& outer, Problems& problems);

// Every "$name" in a list of layers, with its position.
std::vector<Entry> parameters_used(const List& layers);

}  // namespace pipetrain::model_file
