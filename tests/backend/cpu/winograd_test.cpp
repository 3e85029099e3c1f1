// Convolutions by Winograd F(2x2, 3x3): whole kernels against the reference, and each instruction
// set's loops against a direct convolution.
#include <omp.h>

#include "backend/cpu/cpu_backend.hpp"
#include "backend/cpu/instruction_set.hpp"
#include "backend/reference/reference_backend.hpp"
#include "graph/graph.hpp"
#include "instruction_sets.hpp"
#include "outcomes.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;
using namespace pipetrain::cpu;
using namespace pipetrain::cpu::testing;

namespace {

Conv2d padded3x3(std::int64_t outputs) {
  return {.out_channels = outputs, .kernel = {3, 3}, .padding = {1, 1}};
}

// Two convolutions by Winograd after one that is not, so that weights are packed for forward and
// backward.
Graph three_convolutions(std::int64_t height, std::int64_t width) {
  return make_graph({3, height, width}, {{"conv1", padded3x3(64), {64, height, width}},
                                         {"conv2", padded3x3(128), {128, height, width}},
                                         {"relu", Relu{}, {128, height, width}},
                                         {"conv3", padded3x3(64), {64, height, width}}});
}

}  // namespace

TEST_CASE("convolutions by Winograd agree with the reference", "[cpu]") {
  const auto cpu = make_cpu_backend(), reference = make_reference_backend();
  const auto [height, width, samples] = GENERATE(
      table<std::int64_t, std::int64_t, int>({{4, 4, 5}, {6, 8, 1}, {10, 6, 3}, {2, 8, 4}}));
  CAPTURE(height, width, samples);
  const Task task = make_task(three_convolutions(height, width), samples, Mode::Train, 2);
  check_close(run(*cpu, task), run(*reference, task));
}

TEST_CASE("a convolution by Winograd packs its weights if no kernel did", "[cpu]") {
  const auto cpu = make_cpu_backend(), reference = make_reference_backend();
  const Graph graph = make_graph({64, 6, 6}, {{"conv", padded3x3(64), {64, 6, 6}}});
  const Task task = make_task(graph, 2, Mode::Train, 2);
  check_close(run(*cpu, task), run(*reference, task));
}

TEST_CASE("convolutions by Winograd give the same bits for any number of threads", "[cpu]") {
  if (!has_avx512()) {
    WARN("skipped: without AVX-512 the library convolves");
    return;
  }
  const auto cpu = make_cpu_backend();
  const Graph graph = make_graph({64, 8, 10}, {{"conv1", padded3x3(64), {64, 8, 10}},
                                               {"relu", Relu{}, {64, 8, 10}},
                                               {"conv2", padded3x3(128), {128, 8, 10}}});
  const Task task = make_task(graph, 11, Mode::Train, 2);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Outcome alone = run(*cpu, task);
  omp_set_num_threads(3);
  const Outcome together = run(*cpu, task);
  omp_set_num_threads(before);
  check_same_bits(alone, together);
}

namespace {

constexpr WinogradLoop kLoop{
    .samples = 3, .height = 6, .width = 4, .channels = 64, .outputs = 64, .with_relu = false};
constexpr std::int64_t kBlocks = 4, kBlock = kLanes * kLanes, kPixels = kLoop.height * kLoop.width;

std::int64_t image_index(std::int64_t n, std::int64_t channel, std::int64_t y, std::int64_t x) {
  return (((n * kBlocks + channel / kLanes) * kLoop.height + y) * kLoop.width + x) * kLanes +
         channel % kLanes;
}

// Calls visit(index of the output, of the input, of the weight) for every product.
template <class Visit>
void each_product(Visit visit) {
  for (std::int64_t n = 0; n < kLoop.samples; ++n)
    for (std::int64_t i = 0; i < kPixels * 9; ++i) {
      const std::int64_t tap = i % 9, y = i / 9 / kLoop.width, x = i / 9 % kLoop.width,
                         iy = y + tap / 3 - 1, ix = x + tap % 3 - 1;
      if (iy < 0 || iy >= kLoop.height || ix < 0 || ix >= kLoop.width) continue;
      for (std::int64_t c = 0; c < kLoop.channels; ++c)
        for (std::int64_t o = 0; o < kLoop.outputs; ++o)
          visit(image_index(n, o, y, x), image_index(n, c, iy, ix),
                (((o / kLanes * kBlocks + c / kLanes) * 9 + tap) * kLanes + c % kLanes) * kLanes +
                    o % kLanes);
    }
}

const std::int64_t kImages = kLoop.samples * kPixels * kLoop.channels,
                   kWeights = kBlocks * kBlocks * 9 * kBlock;

std::vector<float> points_of(const VectorLoops& loops, const std::vector<float>& weights,
                             bool mirrored) {
  std::vector<float> points(at(kWinogradPoints * kLoop.channels * kWinogradPanel));
  for (std::int64_t b = 0; b < kBlocks * kBlocks; ++b) {
    const std::int64_t out = b / kBlocks, in = b % kBlocks, row = mirrored ? out : in,
                       column = mirrored ? in : out;
    loops.winograd_weights(weights.data() + b * 9 * kBlock, mirrored,
                           points.data() + row * kLanes * kWinogradPanel + column * kLanes,
                           kLoop.channels * kWinogradPanel);
  }
  return points;
}

std::vector<float> convolve(const VectorLoops& loops, const std::vector<float>& x,
                            const std::vector<float>& points) {
  std::vector<float> y(at(kImages), 7.0f);
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 5}, {5, 18}}) {
    std::vector<float> scratch(at(winograd_scratch(kLoop.channels, end - begin)), 7.0f);
    loops.winograd_convolve(kLoop, x.data(), points.data(), nullptr, y.data(), begin, end,
                            scratch.data());
  }
  return y;
}

// In two groups of tiles.
std::vector<float> weight_gradient(const VectorLoops& loops, const std::vector<float>& x,
                                   const std::vector<float>& dy, const std::vector<float>& before) {
  const std::int64_t of_point = kLoop.channels * kWinogradPanel, most = 11;
  std::vector<float> inputs(at(kWinogradPoints * most * kLoop.channels)),
      gradients(at(kWinogradPoints * most * kLoop.outputs)), sums(at(kWinogradPoints * of_point));
  for (const auto& [begin, end] : {std::pair<std::int64_t, std::int64_t>{0, 7}, {7, 18}}) {
    const std::int64_t tiles = end - begin, stride = tiles * kLoop.channels;
    for (std::int64_t b = 0; b < kBlocks; ++b) {
      const std::int64_t image = b * kPixels * kLanes;
      loops.winograd_inputs(kLoop, x.data() + image, begin, end, inputs.data() + b * tiles * kLanes,
                            stride);
      loops.winograd_gradients(kLoop, dy.data() + image, begin, end, gradients.data() + b * kLanes,
                               stride);
    }
    for (std::int64_t p = 0; p < kWinogradPoints; ++p)
      for (std::int64_t b = 0; b < kBlocks; ++b)
        loops.winograd_products(kLoop, inputs.data() + p * stride + b * tiles * kLanes,
                                gradients.data() + p * stride, tiles, stride,
                                sums.data() + p * of_point + b * kLanes * kWinogradPanel, 0);
  }
  std::vector<float> dw = before;
  for (std::int64_t b = 0; b < kBlocks * kBlocks; ++b)
    loops.winograd_weight_gradient(
        sums.data() + b % kBlocks * kLanes * kWinogradPanel + b / kBlocks * kLanes, of_point, true,
        dw.data() + b * 9 * kBlock);
  return dw;
}

}  // namespace

TEST_CASE("every instruction set computes the same convolution by Winograd", "[cpu]") {
  const auto [name, loops] = GENERATE(from_range(loops_here()));
  CAPTURE(name);
  const std::vector<float> x = numbers(kImages, 0.7f), dy = numbers(kImages, 0.4f),
                           w = numbers(kWeights, 0.9f), before = numbers(kWeights, 0.2f);
  const auto product = [](float a, float b) {
    return static_cast<double>(a) * static_cast<double>(b);
  };
  std::vector<double> y(x.size()), dx(x.size()), dw(before.begin(), before.end());
  each_product([&](std::int64_t output, std::int64_t input, std::int64_t weight) {
    y[at(output)] += product(x[at(input)], w[at(weight)]);
    dx[at(input)] += product(dy[at(output)], w[at(weight)]);
    dw[at(weight)] += product(x[at(input)], dy[at(output)]);
  });
  check_near(convolve(*loops, x, points_of(*loops, w, false)), y);
  check_near(convolve(*loops, dy, points_of(*loops, w, true)), dx);
  check_near(weight_gradient(*loops, x, dy, before), dw);
}
