// `npy`: inputs [n, input shape] as floats; labels [n] as integers (cross_entropy), or float
// targets [n, output shape] (mse).
#include <spdlog/fmt/fmt.h>

#include <utility>

#include "base/error.hpp"
#include "data/formats.hpp"
#include "data/npy_array.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

namespace {

class NpyDataset final : public Dataset {
 public:
  NpyDataset(NpyArray inputs, NpyArray targets, const Graph& graph)
      : inputs_(std::move(inputs)),
        targets_(std::move(targets)),
        shape_(graph.input),
        classes_(model_classes(graph)) {
    if (classes_ == 0) target_shape_ = model_output(graph);
  }
  std::int64_t size() const override { return inputs_.size(); }
  const Shape& input_shape() const override { return shape_; }
  int classes() const override { return classes_; }
  const Shape& target_shape() const override { return target_shape_; }
  void read(const SampleRequest& which, const Sample& to) const override {
    const std::int64_t index = which.index, elements = shape_.elements();
    if (to.input) inputs_.floats(index * elements, elements, to.input);
    if (classes_ > 0) {
      *to.classes = static_cast<std::int32_t>(targets_.integer(index));
    } else {
      const std::int64_t values = target_shape_.elements();
      targets_.floats(index * values, values, to.values);
    }
  }

 private:
  NpyArray inputs_, targets_;
  Shape shape_, target_shape_;
  int classes_;
};

[[noreturn]] void refuse_targets(const DataFiles& files, const NpyArray& targets,
                                 std::string_view loss, std::string_view wanted) {
  throw UsageError(
      fmt::format("{}: the targets are {} of shape ({}), but the model's loss is {}, which needs "
                  "{}; save the targets that way, or choose the other loss in the model",
                  files.labels.string(), npy_type_name(targets.type), fmt::join(targets.dims, ", "),
                  loss, wanted));
}

void check_classes(const DataFiles& files, const NpyArray& labels, int classes) {
  if (labels.is_float() || labels.dims.size() != 1)
    refuse_targets(files, labels, "cross_entropy", "int32 or int64 class labels of shape (n,)");
  for (std::int64_t i = 0; i < labels.size(); ++i)
    check_label(files.labels, i, labels.integer(i), classes);
}

void check_values(const DataFiles& files, const NpyArray& targets, const Graph& graph) {
  if (!targets.is_float() || targets.sample_shape() != model_output(graph))
    refuse_targets(files, targets, "mse",
                   fmt::format("floats of shape (n, {}), as the model's output",
                               fmt::join(model_output(graph).dims, ", ")));
}

}  // namespace

std::unique_ptr<const Dataset> open_npy(const DataFiles& files, const Graph& graph) {
  NpyArray inputs = read_npy(files.inputs), targets = read_npy(files.labels);
  if (!inputs.is_float())
    throw UsageError(fmt::format(
        "{}: inputs must be float32 or float64, but these are {}; save array.astype('<f4')",
        files.inputs.string(), npy_type_name(inputs.type)));
  if (inputs.sample_shape() != graph.input)
    refuse_input_shape(files.inputs.string(), inputs.sample_shape(), graph);
  check_counts(files, inputs.size(), targets.size());
  if (graph.loss == Loss::CrossEntropy) {
    require_one_label(files.labels.string(), graph);
    check_classes(files, targets, model_classes(graph));
  } else {
    check_values(files, targets, graph);
  }
  return std::make_unique<NpyDataset>(std::move(inputs), std::move(targets), graph);
}

}  // namespace pipetrain
