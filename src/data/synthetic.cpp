// `synthetic`: random tensors and classes of the model's own shapes, for benchmarks. There is
// nothing to learn in them. Samples are windows on one pool of random numbers, so that reading one
// costs a copy and nothing more, whatever its size.
#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "data/formats.hpp"

namespace pipetrain {

namespace {

constexpr std::int64_t windows_max = 1 << 16;  // from then on inputs come again, classes do not

std::vector<float> normal_pool(const Shape& window, std::int64_t windows, Random random) {
  std::vector<float> pool(static_cast<std::size_t>(window.elements() + windows));
  for (float& value : pool) value = static_cast<float>(random.normal());
  return pool;
}

class Synthetic final : public Dataset {
 public:
  Synthetic(const DrawOptions& options, const Graph& graph)
      : options_(options),
        stream_(hash_name("synthetic classes " + std::string(options.part))),
        windows_(std::min(options.samples, windows_max)),
        shape_(graph.input),
        classes_(model_classes(graph)) {
    const std::string part(options.part);
    inputs_ = normal_pool(shape_, windows_, Random(options.seed, "synthetic inputs " + part));
    if (classes_ > 0) return;
    target_shape_ = model_output(graph);
    values_ =
        normal_pool(target_shape_, windows_, Random(options.seed, "synthetic values " + part));
  }
  std::int64_t size() const override { return options_.samples; }
  const Shape& input_shape() const override { return shape_; }
  int classes() const override { return classes_; }
  const Shape& target_shape() const override { return target_shape_; }
  void read(std::int64_t index, float* input, std::int32_t* target_class,
            float* target_values) const override {
    const std::int64_t window = index % windows_;
    std::copy_n(inputs_.begin() + window, shape_.elements(), input);
    if (classes_ > 0) {
      Random random(options_.seed, stream_ + static_cast<std::uint64_t>(index));
      *target_class = static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(classes_)));
    } else {
      std::copy_n(values_.begin() + window, target_shape_.elements(), target_values);
    }
  }

 private:
  DrawOptions options_;
  std::uint64_t stream_;
  std::int64_t windows_;
  Shape shape_, target_shape_;
  int classes_;
  std::vector<float> inputs_, values_;
};

}  // namespace

std::unique_ptr<const Dataset> draw_synthetic(const DrawOptions& options, const Graph& graph) {
  return std::make_unique<Synthetic>(options, graph);
}

}  // namespace pipetrain
