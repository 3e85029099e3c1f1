#include "backend/cuda/lowering.hpp"

#include "backend/cuda/update.hpp"
#include "base/bytes_of.hpp"
#include "graph/graph.hpp"

namespace pipetrain::cuda {
namespace {

template <class Spec>
bool is(const Layer& layer) {
  return std::holds_alternative<Spec>(layer.spec);
}

bool can_apply_relu(const Layer& layer) {
  return is<Conv2d>(layer) || is<Linear>(layer) || is<BatchNorm>(layer) || is<Add>(layer);
}

void fuse_relu(const Graph& graph, Indexed<Problem, LayerId>& problems, Problem& relu) {
  const ValueId input = relu.layer->inputs[0];
  if (input.value == 0 || graph.consumers(input).size() != 1) return;
  Problem& producer = problems[input.value - 1];
  if (can_apply_relu(*producer.layer)) producer.with_relu = relu.relu_ahead = true;
}

class CudaLowering final : public Lowering {
 public:
  CudaLowering(const Graph& graph, const ConvolutionAlgorithms& convolutions)
      : graph_(graph), problems_(make_problems(graph_)) {
    for (Problem& problem : problems_) problem.convolutions = &convolutions;
  }
  CudaLowering(const CudaLowering&) = delete;  // problems_ point into graph_
  CudaLowering& operator=(const CudaLowering&) = delete;

  std::size_t value_bytes(ValueId value, int samples) const override {
    return bytes_of<float>(elements(value, samples));
  }
  void load_input(Stream& stream, const void* plain, int samples, void* stored) const override {
    stream.write(stored, plain, value_bytes(ValueId{0}, samples));
  }
  void store_value(Stream& stream, ValueId value, const void* stored, int samples,
                   float* plain) const override {
    stream.read(plain, stored, value_bytes(value, samples));
  }
  void add_value(Stream& stream, ValueId value, int samples, void* a,
                 const void* b) const override {
    add_values(device(&stream), floats(a), floats(b), elements(value, samples));
  }

  std::size_t parameter_bytes(LayerId layer, int parameter) const override {
    const Parameter& stored = problem(layer).layer->parameters[parameter];
    return bytes_of<float>(stored.shape.elements());
  }
  void load_parameter(Stream& stream, LayerId layer, int parameter, const float* plain,
                      void* stored) const override {
    stream.write(stored, plain, parameter_bytes(layer, parameter));
  }
  void store_parameter(Stream& stream, LayerId layer, int parameter, const void* stored,
                       float* plain) const override {
    stream.read(plain, stored, parameter_bytes(layer, parameter));
  }

  std::size_t packed_bytes(LayerId, Pass) const override { return 0; }
  void pack(Stream&, LayerId, Pass, std::span<const void* const>, void*) const override {}

  std::unique_ptr<Kernel> make_kernel(LayerId layer, const KernelOptions& options) const override {
    Problem made = problem(layer);
    made.samples = options.samples;
    made.mode = options.mode;
    return std::visit([&](const auto& spec) { return cuda::make_kernel(spec, std::move(made)); },
                      problem(layer).layer->spec);
  }
  std::unique_ptr<LossKernel> make_loss(int samples) const override {
    const Shape& output = graph_.layers.back().output;
    if (graph_.loss == Loss::Mse) return make_mse(samples, output.elements());
    const std::int64_t classes = output.dims.back();
    return make_cross_entropy(samples * output.elements() / classes, classes,
                              graph_.label_smoothing);
  }

 private:
  const Problem& problem(LayerId layer) const { return problems_[layer]; }
  std::int64_t elements(ValueId value, int samples) const {
    return samples * graph_.shape(value).elements();
  }

  const Graph graph_;
  Indexed<Problem, LayerId> problems_;
};

}  // namespace

Indexed<Problem, LayerId> make_problems(const Graph& graph) {
  Indexed<Problem, LayerId> problems(graph.layers.size());
  for (std::size_t i = 0; i < problems.size(); ++i) {
    problems[i].layer = &graph.layers[i];
    problems[i].output = graph.layers[i].output;
    for (const ValueId input : graph.layers[i].inputs)
      problems[i].inputs.push_back(graph.shape(input));
  }
  for (Problem& problem : problems)
    if (is<Relu>(*problem.layer)) fuse_relu(graph, problems, problem);
  return problems;
}

std::unique_ptr<const Lowering> lower(const Graph& graph,
                                      const ConvolutionAlgorithms& convolutions) {
  return std::make_unique<CudaLowering>(graph, convolutions);
}

}  // namespace pipetrain::cuda
