// A thread convolves some tiles at a time, with all their channels and outputs, so that their
// points stay in its cache. For the weight gradient all threads first transform a larger set of
// tiles, then each adds up the products for its own channels; the sums of a weight run over tiles
// in their order.
#include "backend/cpu/conv/winograd.hpp"

#include <algorithm>

#include "backend/cpu/conv/conv_layout.hpp"
#include "backend/cpu/conv/small_images.hpp"
#include "backend/cpu/conv/suits_winograd.hpp"
#include "backend/cpu/instruction_set.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kTogether = 36;           // tiles convolved at once, at most
constexpr std::int64_t kGradientTogether = 128;  // for the weight gradient, transformed at once
constexpr std::int64_t kTaps = 9;
constexpr std::int64_t kPanelBlocks = kWinogradPanel / kLanes;

WinogradLoop forward_loop(const Problem& problem) {
  return {.samples = problem.samples,
          .height = problem.output.height,
          .width = problem.output.width,
          .channels = problem.inputs[0].channels,
          .outputs = problem.output.channels,
          .with_relu = problem.with_relu};
}
WinogradLoop input_gradient_loop(const Problem& problem) {
  WinogradLoop loop = forward_loop(problem);
  std::swap(loop.channels, loop.outputs);
  loop.with_relu = false;
  return loop;
}
std::int64_t products(const WinogradLoop& loop) {
  return kWinogradPoints * loop.tiles() * loop.channels * loop.outputs;
}

// Where a block of weights begins among their points, [panel][point][rows][64].
std::int64_t offset_in_points(std::int64_t rows, std::int64_t row_block,
                              std::int64_t column_block) {
  const std::int64_t panel = column_block / kPanelBlocks;
  return (panel * kWinogradPoints * rows + row_block * kLanes) * kWinogradPanel +
         column_block % kPanelBlocks * kLanes;
}

class WinogradKernel final : public CpuKernel {
 public:
  WinogradKernel(const Conv2d& spec, Problem problem)
      : CpuKernel(std::move(problem)),
        spec_(spec),
        small_images_(has_small_images(spec, problem_)) {
    traits_.backward_weight_reads_inputs = true;
    traits_.scratch_bytes = convolving_bytes(forward_loop(problem_));
    if (problem_.mode != Mode::Train) return;
    traits_.scratch_bytes =
        std::max({traits_.scratch_bytes,
                  own_packed_bytes() + convolving_bytes(input_gradient_loop(problem_)),
                  small_images_ ? small_images_scratch_bytes(problem_, threads_)
                                : gradient_points().floats() * sizeof(float)});
  }

  void forward(const ForwardArguments& a) override {
    convolve(forward_loop(problem_), floats(a.inputs[0]), floats(a.weights.packed),
             spec_.bias ? floats(a.weights.parameters[1]) : nullptr, floats(a.output),
             floats(a.scratch));
  }

  void backward_input(const BackwardInputArguments& a) override {
    if (!a.input_gradients[0]) return;
    const float* packed = floats(a.weights.packed);
    float* scratch = floats(a.scratch);
    if (own_packed_bytes() > 0) {
      winograd_pack(spec_, problem_, Pass::Backward, floats(a.weights.parameters[0]), scratch);
      packed = scratch;
      scratch += own_packed_bytes() / sizeof(float);
    }
    convolve(input_gradient_loop(problem_), floats(a.output_gradient), packed, nullptr,
             floats(a.input_gradients[0]), scratch);
  }

  void backward_weight(const BackwardWeightArguments& a) override {
    if (small_images_) return small_images_backward_weight(spec_, problem_, a, threads_);
    const WinogradLoop loop = forward_loop(problem_);
    const GradientPoints points = gradient_points();
    float* const scratch = floats(a.scratch);
    clear(scratch + points.weights(), kWinogradPoints * loop.channels * loop.outputs);
    for (std::int64_t begin = 0; begin < loop.tiles(); begin += kGradientTogether) {
      const std::int64_t end = std::min(begin + kGradientTogether, loop.tiles());
      transform(loop, points, a, begin, end);
      add_products(loop, points, scratch, end - begin);
    }
    give_gradient(loop, points, a);
    if (spec_.bias) add_bias_gradient(a);
  }

 private:
  // Scratch for a weight gradient: the inputs of some tiles, [point][channels / 16][tile][16],
  // their output gradients, [point][outputs / 64][tile][64], and the sums of their products,
  // [outputs / 64][point][channels][64].
  struct GradientPoints {
    std::int64_t channels, outputs, tiles;

    std::int64_t input_stride() const { return channels * tiles + kLanes; }  // between points
    std::int64_t gradient_stride() const { return outputs * tiles + kLanes; }
    std::int64_t gradients() const { return kWinogradPoints * input_stride(); }
    std::int64_t weights() const { return gradients() + kWinogradPoints * gradient_stride(); }
    std::size_t floats() const {
      return static_cast<std::size_t>(weights() + kWinogradPoints * channels * outputs);
    }
  };
  GradientPoints gradient_points() const {
    const WinogradLoop loop = forward_loop(problem_);
    return {loop.channels, loop.outputs, std::min(loop.tiles(), kGradientTogether)};
  }

  // For a kernel that is never asked for an input gradient, except by a test.
  std::size_t own_packed_bytes() const {
    return problem_.wants_input_gradient ? 0 : winograd_packed_bytes(spec_, problem_);
  }
  static std::int64_t scratch_floats(const WinogradLoop& loop) {
    return winograd_scratch(loop.channels, std::min(loop.tiles(), kTogether));
  }
  std::size_t convolving_bytes(const WinogradLoop& loop) const {
    return bytes_of<float>(threads_ * scratch_floats(loop));
  }

  void convolve(const WinogradLoop& loop, const float* x, const float* weights, const float* bias,
                float* y, float* scratch) const {
    // A multiple of the number of threads, so that all finish together.
    const std::int64_t tiles = loop.tiles(),
                       least = round_up((tiles + kTogether - 1) / kTogether, threads_),
                       parts = std::min(tiles, least);
    parallel_ranges_with(
        parts, products(loop), threads_,
        [&](int thread) { return scratch + thread * scratch_floats(loop); },
        [&](float* memory, std::int64_t begin, std::int64_t end) {
          for (std::int64_t part = begin; part < end; ++part)
            loops_.winograd_convolve(loop, x, weights, bias, y, tiles * part / parts,
                                     tiles * (part + 1) / parts, memory);
        });
  }

  void transform(const WinogradLoop& loop, const GradientPoints& points,
                 const BackwardWeightArguments& a, std::int64_t begin, std::int64_t end) const {
    float* const scratch = floats(a.scratch);
    const std::int64_t tiles = end - begin, pixels = loop.height * loop.width,
                       blocks = loop.channels / kLanes;
    parallel_each(blocks + loop.outputs / kLanes,
                  kElementWork * kWinogradPoints * tiles * (loop.channels + loop.outputs),
                  [&](std::int64_t b) {
                    if (b < blocks)
                      return loops_.winograd_inputs(loop, floats(a.inputs[0]) + b * pixels * kLanes,
                                                    begin, end, scratch + b * tiles * kLanes,
                                                    points.input_stride());
                    b -= blocks;
                    loops_.winograd_gradients(
                        loop, floats(a.output_gradient) + b * pixels * kLanes, begin, end,
                        scratch + points.gradients() + b / kPanelBlocks * tiles * kWinogradPanel +
                            b % kPanelBlocks * kLanes,
                        points.gradient_stride());
                  });
  }

  void add_products(const WinogradLoop& loop, const GradientPoints& points, float* scratch,
                    std::int64_t tiles) const {
    parallel_each(
        loop.channels / kLanes * kWinogradPoints,
        kWinogradPoints * tiles * loop.channels * loop.outputs, [&](std::int64_t unit) {
          const std::int64_t b = unit / kWinogradPoints, p = unit % kWinogradPoints;
          loops_.winograd_products(
              loop, scratch + p * points.input_stride() + b * tiles * kLanes,
              scratch + points.gradients() + p * points.gradient_stride(), tiles,
              tiles * kWinogradPanel,
              scratch + points.weights() + (p * loop.channels + b * kLanes) * kWinogradPanel,
              kWinogradPoints * loop.channels * kWinogradPanel);
        });
  }

  void give_gradient(const WinogradLoop& loop, const GradientPoints& points,
                     const BackwardWeightArguments& a) const {
    const float* const sums = floats(a.scratch) + points.weights();
    const std::int64_t in_blocks = loop.channels / kLanes,
                       blocks = in_blocks * loop.outputs / kLanes;
    parallel_each(blocks, kElementWork * blocks * kWeightBlock * kWinogradPoints,
                  [&](std::int64_t b) {
                    loops_.winograd_weight_gradient(
                        sums + offset_in_points(loop.channels, b % in_blocks, b / in_blocks),
                        loop.channels * kWinogradPanel, a.accumulate,
                        floats(a.gradients[0]) + b * kTaps * kWeightBlock);
                  });
  }

  void add_bias_gradient(const BackwardWeightArguments& a) const {
    const ValueLayout& out = problem_.output;
    const std::int64_t block_elements = out.pixels() * kLanes;
    parallel_each(
        out.channels / kLanes, kElementWork * problem_.output_elements(), [&](std::int64_t b) {
          float* const bias = floats(a.gradients[1]) + b * kLanes;
          if (!a.accumulate) std::fill_n(bias, kLanes, 0.0f);
          for (std::int64_t n = 0; n < problem_.samples; ++n)
            loops_.f32.add_rows(
                floats(a.output_gradient) + n * out.stored_elements() + b * block_elements,
                out.pixels(), kLanes, kLanes, bias);
        });
  }

  static void clear(float* memory, std::int64_t count) {
    parallel_ranges(count, kElementWork * count, [&](std::int64_t begin, std::int64_t end) {
      std::fill(memory + begin, memory + end, 0.0f);
    });
  }

  const VectorLoops& loops_ = vector_loops();
  Conv2d spec_;
  int threads_ = omp_get_max_threads();
  bool small_images_;  // other loops do the weight gradient
};

}  // namespace

bool has_winograd(const Conv2d& spec, const Problem& problem) {
  static_assert(kWinogradPanel == kFilteredChannels);
  return has_avx512() && problem.inputs[0].blocked && !problem.multiplies_bf16 &&
         suits_winograd(spec, problem.inputs[0].channels, problem.layer->output);
}

std::size_t winograd_packed_bytes(const Conv2d& spec, const Problem& problem) {
  return bytes_of<float>(kWinogradPoints * problem.inputs[0].channels * spec.out_channels);
}

void winograd_pack(const Conv2d& spec, const Problem& problem, Pass pass, const float* weights,
                   float* packed) {
  const std::int64_t channels = problem.inputs[0].channels, outputs = spec.out_channels,
                     in_blocks = channels / kLanes, blocks = in_blocks * outputs / kLanes;
  const bool mirrored = pass == Pass::Backward;
  const std::int64_t rows = mirrored ? outputs : channels;
  parallel_each(blocks, kElementWork * blocks * kWeightBlock * kWinogradPoints,
                [&](std::int64_t b) {
                  const std::int64_t in = b % in_blocks, out = b / in_blocks;
                  vector_loops().winograd_weights(
                      weights + b * kTaps * kWeightBlock, mirrored,
                      packed + offset_in_points(rows, mirrored ? out : in, mirrored ? in : out),
                      rows * kWinogradPanel);
                });
}

std::unique_ptr<Kernel> make_winograd(const Conv2d& spec, Problem problem) {
  return std::make_unique<WinogradKernel>(spec, std::move(problem));
}

}  // namespace pipetrain::cpu
