// Where samples come from. One file per format implements Dataset; `open_datasets` picks it.
#pragma once

#include <cstdint>
#include <memory>

#include "config/config.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

// Random access to samples. Immutable after construction: any thread may read.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  virtual const Shape& input_shape() const = 0;   // [C, H, W] or [features]
  virtual int classes() const = 0;                // 0: targets are float tensors (mse)
  virtual const Shape& target_shape() const = 0;  // of a float target; empty for class labels
  // One sample, plain row-major. `target_class` or `target_values` is written, the other may be
  // null.
  virtual void read(std::int64_t index, float* input, std::int32_t* target_class,
                    float* target_values) const = 0;
};

struct Datasets {
  std::unique_ptr<const Dataset> train;
  std::unique_ptr<const Dataset> validation;  // null where the config names none
};

// Opens and checks what the config names against the model: DataError for files, UsageError for
// shapes, labels or losses that do not fit. `synthetic` takes shape and classes from the graph.
Datasets open_datasets(const DataConfig& config, const Graph& graph, std::uint64_t seed);

}  // namespace pipetrain
