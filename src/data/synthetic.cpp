// `synthetic`: random tensors and classes of the model's own shapes, for benchmarks. There is
// nothing to learn in them. Samples are windows on one pool of random numbers, so that reading one
// costs only a copy, whatever its size. The same goes for sequences of random tokens.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

namespace {

constexpr std::int64_t windows_max = 1 << 16;  // after that, inputs repeat; classes do not

std::vector<float> normal_pool(const Shape& window, std::int64_t windows, Random random) {
  std::vector<float> pool(window.elements() + windows);
  for (float& value : pool) value = static_cast<float>(random.normal());
  return pool;
}

std::vector<std::int32_t> token_pool(const Shape& window, std::int64_t windows, Random random) {
  std::vector<std::int32_t> pool(window.elements() + windows);
  for (std::int32_t& token : pool)
    token = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(window.vocabulary)));
  return pool;
}

class Synthetic final : public Dataset {
 public:
  Synthetic(const DrawOptions& options, const Graph& graph)
      : options_(options),
        stream_(hash_name("synthetic classes " + std::string(options.part))),
        windows_(std::min(options.samples, windows_max)),
        shape_(graph.input),
        classes_(model_classes(graph)),
        labels_(model_labels(graph)) {
    const std::string part(options.part);
    const Random inputs(options.seed, "synthetic inputs " + part);
    if (shape_.vocabulary > 0)
      tokens_ = token_pool(shape_, windows_, inputs);
    else
      inputs_ = normal_pool(shape_, windows_, inputs);
    if (classes_ > 0) return;
    target_shape_ = model_output(graph);
    values_ =
        normal_pool(target_shape_, windows_, Random(options.seed, "synthetic values " + part));
  }
  std::int64_t size() const override { return options_.samples; }
  const Shape& input_shape() const override { return shape_; }
  int classes() const override { return classes_; }
  const Shape& target_shape() const override { return target_shape_; }
  std::int64_t labels() const override { return labels_; }
  void read(const SampleRequest& which, const Sample& to) const override {
    const std::int64_t window = which.index % windows_;
    if (shape_.vocabulary > 0)
      std::copy_n(tokens_.begin() + window, shape_.elements(), to.tokens);
    else if (to.input)
      std::copy_n(inputs_.begin() + window, shape_.elements(), to.input);
    if (classes_ == 0) {
      std::copy_n(values_.begin() + window, target_shape_.elements(), to.values);
      return;
    }
    Random random(options_.seed, stream_ + static_cast<std::uint64_t>(which.index));
    for (std::int64_t label = 0; label < labels_; ++label)
      to.classes[label] =
          static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(classes_)));
  }

 private:
  DrawOptions options_;
  std::uint64_t stream_;
  std::int64_t windows_;
  Shape shape_, target_shape_;
  int classes_;
  std::int64_t labels_;
  std::vector<float> inputs_, values_;
  std::vector<std::int32_t> tokens_;
};

}  // namespace

std::unique_ptr<const Dataset> draw_synthetic(const DrawOptions& options, const Graph& graph) {
  return std::make_unique<Synthetic>(options, graph);
}

}  // namespace pipetrain
