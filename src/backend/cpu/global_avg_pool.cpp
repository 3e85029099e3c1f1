// The mean of each channel: one window over the whole image.
#include "backend/cpu/avg_pool.hpp"

namespace pipetrain::cpu {

std::unique_ptr<Kernel> make_kernel(const GlobalAvgPool&, Problem problem) {
  const Pair image{problem.inputs[0].height, problem.inputs[0].width};
  return make_avg_pool({.kernel = image, .stride = image}, std::move(problem));
}

}  // namespace pipetrain::cpu
