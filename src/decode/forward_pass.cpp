#include "decode/forward_pass.hpp"

#include "base/check.hpp"
#include "graph/graph.hpp"
#include "machine/threads.hpp"
#include "stage/stage_tensors.hpp"

namespace pipetrain {
namespace {

LoweredModel lower(const ForwardPassInput& in) {
  set_kernel_threads(plan_threads(1, in.config.hardware.threads_per_stage).threads_per_stage);
  const bool bf16 = in.config.training.precision == Precision::Bf16;
  return {in.graph,
          in.backend.lower(in.graph,
                           {.samples = 1, .precision = bf16 ? Precision::Bf16 : Precision::F32})};
}

constexpr PassCall one_sample = {.size = {1, Mode::Evaluate}, .weights = {}, .random = {}};
const OptimizerConfig no_optimizer = {};  // keeps the least state, and nothing is updated

}  // namespace

ForwardPass::ForwardPass(const ForwardPassInput& in, const NamedTensors& parameters)
    : model_(lower(in)),
      stage_({.model = model_,
              .backend = in.backend,
              .optimizer = no_optimizer,
              .id = {0},
              .first = {0},
              .last = {static_cast<int>(in.graph.layers.size()) - 1}}),
      output_(in.graph.layers.back().output.elements()) {
  stage_.prepare(one_sample.size);
  put_parameters(stage_, parameters);
  stage_.begin_program();
}

std::span<const float> ForwardPass::run(std::span<const std::int32_t> tokens) {
  PIPETRAIN_CHECK(!tokens.empty(), "no tokens");
  PassCall call = one_sample;
  call.input = tokens.data();
  stage_.load_input(call);
  stage_.forward(call);
  stage_.read_output(call, output_.data());
  return output_;
}

}  // namespace pipetrain
