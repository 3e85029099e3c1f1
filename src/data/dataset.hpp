// Where samples come from. One file per format implements Dataset; `open_datasets` chooses it.
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

// Which sample, and the mini-batch for which it is read: what is drawn at random (a crop, a flip)
// is a function of the seed and these two.
struct SampleRequest {
  std::int64_t index = 0;  // 0 .. size() - 1
  std::int64_t step = 0;   // from 0
  Lengths lengths = {};    // of the mini-batch
};

// Where one sample goes, plain row-major; null if the data set has no such part, or the input is
// not needed. In a mini-batch with lengths of its own: as many tokens as the two lengths together,
// as many classes as the target's.
struct Sample {
  float* input = nullptr;           // [input_shape()], or
  std::int32_t* tokens = nullptr;   // [input_shape()] if that has a vocabulary
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
  virtual std::int64_t labels() const { return 1; }  // per sample; a sequence has one per position
  virtual const Shape& target_shape() const = 0;     // of a float target; empty with class labels
  virtual void read(const SampleRequest& which, const Sample& to) const = 0;
  // The mini-batches for training or evaluation; the data set must outlive the order.
  virtual std::unique_ptr<MinibatchOrder> order(const OrderOptions& options) const;
  // How many threads may usefully read the samples of one mini-batch: more than one if reading
  // takes work, such as decoding.
  virtual int reading_threads() const { return 1; }
};

class Vocabulary;
class Pieces;

struct Datasets {
  std::unique_ptr<const Dataset> train;
  std::unique_ptr<const Dataset> validation;          // null if the config names none
  std::shared_ptr<const Vocabulary> vocabulary = {};  // for text; else null
  std::shared_ptr<const Pieces> pieces = {};          // for parallel text; else null
  std::optional<LinePairs> validation_lines = {};     // for parallel text: what validates, as text
  std::vector<std::string> notes = {};                // for the user, on what was read
  std::vector<std::string> class_names = {};          // for image folders, by label; else empty
};

// Opens what the config names and checks it against the model: DataError for files, UsageError for
// shapes, labels or losses that do not fit. `synthetic` takes shapes and classes from the graph.
Datasets open_datasets(const DataConfig& config, const Graph& graph, std::uint64_t seed);

}  // namespace pipetrain
