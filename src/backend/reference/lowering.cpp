#include "backend/reference/lowering.hpp"

#include <algorithm>
#include <cstring>

#include "backend/reference/kernel.hpp"
#include "base/bytes_of.hpp"
#include "graph/graph.hpp"

namespace pipetrain::reference {
namespace {

class ReferenceLowering final : public Lowering {
 public:
  explicit ReferenceLowering(const Graph& graph) : graph_(graph) {}

  std::size_t value_bytes(ValueId value, int samples) const override {
    return bytes_of<float>(elements(value, samples));
  }
  void load_input(Stream&, const void* plain, int samples, void* stored) const override {
    std::memcpy(stored, plain, value_bytes(ValueId{0}, samples));  // tokens have the same width
  }
  void store_value(Stream&, ValueId value, const void* stored, int samples,
                   float* plain) const override {
    std::copy_n(floats(stored), elements(value, samples), plain);
  }
  void add_value(Stream&, ValueId value, int samples, void* a, const void* b) const override {
    for (std::int64_t i = 0; i < elements(value, samples); ++i) floats(a)[i] += floats(b)[i];
  }

  std::size_t parameter_bytes(LayerId layer, int parameter) const override {
    return bytes_of<float>(parameter_elements(layer, parameter));
  }
  void load_parameter(Stream&, LayerId layer, int parameter, const float* plain,
                      void* stored) const override {
    std::copy_n(plain, parameter_elements(layer, parameter), floats(stored));
  }
  void store_parameter(Stream&, LayerId layer, int parameter, const void* stored,
                       float* plain) const override {
    std::copy_n(floats(stored), parameter_elements(layer, parameter), plain);
  }
  std::size_t packed_bytes(LayerId, Pass) const override { return 0; }
  void pack(Stream&, LayerId, Pass, std::span<const void* const>, void*) const override {}

  std::unique_ptr<Kernel> make_kernel(LayerId id, const KernelOptions& options) const override {
    const Layer& layer = graph_.layers[id];
    Problem problem{layer.name, {}, layer.output, options.samples, options.mode};
    for (const ValueId input : layer.inputs) problem.inputs.push_back(graph_.shape(input));
    for (const Parameter& p : layer.parameters) problem.parameters.push_back(p.shape);
    return std::visit(
        [&](const auto& spec) { return reference::make_kernel(spec, std::move(problem)); },
        layer.spec);
  }

  std::unique_ptr<LossKernel> make_loss(int samples) const override {
    const Shape& output = graph_.layers.back().output;
    if (graph_.loss == Loss::Mse) return make_mse(samples, output.elements());
    const std::int64_t classes = output.dims.back();
    return make_cross_entropy(samples * output.elements() / classes, classes,
                              graph_.label_smoothing);
  }

 private:
  std::int64_t elements(ValueId value, int samples) const {
    return samples * graph_.shape(value).elements();
  }
  std::int64_t parameter_elements(LayerId layer, int parameter) const {
    const Layer& owner = graph_.layers[layer];
    return owner.parameters[parameter].shape.elements();
  }

  const Graph graph_;
};

}  // namespace

std::unique_ptr<const Lowering> lower(const Graph& graph) {
  return std::make_unique<ReferenceLowering>(graph);
}

}  // namespace pipetrain::reference
