// A thread takes blocks of 16 outputs by 16 channels. What lies far apart, the pixels of one block
// in all samples, is gathered first; the sums of a block go over samples and pixels in their order.
#include "backend/cpu/small_images.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cpu/parallel.hpp"
#include "backend/cpu/vector_loops.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kBlock = kLanes * kLanes;

std::int64_t gathered_elements(const Problem& problem, const ValueLayout& image) {
  return problem.samples * image.pixels() * kLanes;
}

struct Gathered {  // a thread's own
  float *x, *dy;
  std::int64_t in_block = -1, out_block = -1;
};

void gather(const Problem& problem, const ValueLayout& image, const float* value,
            std::int64_t block, float* to) {
  const std::int64_t elements = image.pixels() * kLanes;
  for (std::int64_t n = 0; n < problem.samples; ++n)
    std::memcpy(to + n * elements, value + n * image.stored_elements() + block * elements,
                static_cast<std::size_t>(elements) * sizeof(float));
}

SmallImagesLoop loop_of(const Conv2d& spec, const Problem& problem, bool accumulate) {
  const ValueLayout &in = problem.inputs[0], &out = problem.output;
  return {.samples = problem.samples,
          .in_height = in.height,
          .in_width = in.width,
          .out_height = out.height,
          .out_width = out.width,
          .kernel = spec.kernel,
          .stride = spec.stride,
          .padding = spec.padding,
          .accumulate = accumulate};
}

void add_bias(const Problem& problem, const Gathered& gathered, bool accumulate, float* bias) {
  if (!accumulate) std::fill_n(bias, kLanes, 0.0f);
  vector_loops().sum_pixels(gathered.dy, problem.samples * problem.output.pixels(), bias);
}

}  // namespace

std::size_t small_images_scratch_bytes(const Problem& problem, int threads) {
  const std::int64_t elements =
      gathered_elements(problem, problem.inputs[0]) + gathered_elements(problem, problem.output);
  return static_cast<std::size_t>(threads * elements) * sizeof(float);
}

void small_images_backward_weight(const Conv2d& spec, const Problem& problem,
                                  const BackwardWeightArguments& a, int threads) {
  const ValueLayout &in = problem.inputs[0], &out = problem.output;
  const std::int64_t taps = spec.kernel[0] * spec.kernel[1],
                     in_blocks = in.stored_channels() / kLanes,
                     out_blocks = out.stored_channels() / kLanes,
                     x_elements = gathered_elements(problem, in),
                     elements = x_elements + gathered_elements(problem, out);
  const SmallImagesLoop loop = loop_of(spec, problem, a.accumulate);
  const std::int64_t work = problem.output_elements() * in.stored_channels() * taps;
  const auto memory_of = [&](int thread) {
    float* const memory = floats(a.scratch) + thread * elements;
    return Gathered{.x = memory, .dy = memory + x_elements};
  };
  const auto blocks = [&](Gathered& gathered, std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t out_block = b / in_blocks, in_block = b % in_blocks;
      if (gathered.out_block != out_block)
        gather(problem, out, floats(a.output_gradient), out_block, gathered.dy);
      if (gathered.in_block != in_block)
        gather(problem, in, floats(a.inputs[0]), in_block, gathered.x);
      gathered.in_block = in_block;
      gathered.out_block = out_block;
      vector_loops().small_images_weight(loop, gathered.x, gathered.dy,
                                         floats(a.gradients[0]) + b * taps * kBlock);
      if (spec.bias && in_block == 0)
        add_bias(problem, gathered, a.accumulate, floats(a.gradients[1]) + out_block * kLanes);
    }
  };
  parallel_ranges_with(out_blocks * in_blocks, work, threads, memory_of, blocks);
}

}  // namespace pipetrain::cpu
