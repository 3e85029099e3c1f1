// Where samples come from. One file per format implements Dataset; `open_datasets` picks it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "data/minibatch_order.hpp"
#include "data/text/line_pairs.hpp"
#include "graph/shape.hpp"

namespace pipetrain {

struct Graph;

// Which sample, and the mini-batch that it is read for: what is drawn at random (a crop, a flip) is
// a function of the seed and both.
struct SampleRequest {
  std::int64_t index = 0;  // 0 .. size() - 1
  std::int64_t step = 0;   // from 0
  Lengths lengths = {};    // of its mini-batch
};

// Where one sample goes, plain row-major; null where the data set has no such part, or nobody needs
// the input. Of a mini-batch
// with lengths of its own: as many tokens as both sides have, as many classes as the target.
struct Sample {
  float* input = nullptr;           // [input_shape()], or
  std::int32_t* tokens = nullptr;   // [input_shape()] where that has a vocabulary
  std::int32_t* classes = nullptr;  // [labels()], or
  float* values = nullptr;          // [target_shape()]
};

// Random access to samples. Immutable after construction: any thread may read.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual std::int64_t size() const = 0;
  virtual const Shape& input_shape() const = 0;      // [C, H, W], [features], or [T] tokens
  virtual int classes() const = 0;                   // 0: targets are float tensors (mse)
  virtual std::int64_t labels() const { return 1; }  // of one sample: a sequence has one a position
  virtual const Shape& target_shape() const = 0;     // of a float target; empty for class labels
  virtual void read(const SampleRequest& which, const Sample& to) const = 0;
  // The mini-batches that training and evaluation go through; outlived by the data set.
  virtual std::unique_ptr<MinibatchOrder> order(const OrderOptions& options) const;
  // How many threads may well read the samples of one mini-batch: more than one where reading is
  // work, as decoding is.
  virtual int reading_threads() const { return 1; }
};

class Vocabulary;
class Pieces;

struct Datasets {
  std::unique_ptr<const Dataset> train;
  std::unique_ptr<const Dataset> validation;          // null where the config names none
  std::shared_ptr<const Vocabulary> vocabulary = {};  // of text; else null
  std::shared_ptr<const Pieces> pieces = {};          // of parallel text; else null
  std::optional<LinePairs> validation_lines = {};     // likewise: what validates, as text
  std::vector<std::string> notes = {};                // on what was read, for the user
  std::vector<std::string> class_names = {};          // of image folders, by label; else none
};

// Opens and checks what the config names against the model: DataError for files, UsageError for
// shapes, labels or losses that do not fit. `synthetic` takes shape and classes from the graph.
Datasets open_datasets(const DataConfig& config, const Graph& graph, std::uint64_t seed);

}  // namespace pipetrain
