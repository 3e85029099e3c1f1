// Loops that add up in registers, of which instruction sets have more or fewer: each set that this
// machine has, against plain sums.
#include "instruction_sets.hpp"
#include "catch.hpp"

using namespace pipetrain;
using namespace pipetrain::cpu;
using namespace pipetrain::cpu::testing;

namespace {

// An image in blocks of 16 channels, with zeros after the last channel.
std::vector<float> image(const FewChannelsLoop& l) {
  std::vector<float> x = numbers(l.in_height * l.in_width * kLanes, 0.7f);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (static_cast<std::int64_t>(i) % kLanes >= l.channels) x[i] = 0;
  return x;
}

// Calls visit(index in y or dy, index in x, index in the weights).
template <class Visit>
void each_product(const FewChannelsLoop& l, Visit visit) {
  for (std::int64_t block = 0; block < l.out_blocks; ++block)
    for (std::int64_t oy = 0; oy < l.out_height; ++oy)
      for (std::int64_t ox = 0; ox < l.out_width; ++ox)
        for (std::int64_t row = 0; row < l.kernel[0]; ++row)
          for (std::int64_t column = 0; column < l.kernel[1]; ++column)
            for (std::int64_t c = 0; c < l.channels; ++c)
              for (std::int64_t o = 0; o < kLanes; ++o)
                visit(((block * l.out_height + oy) * l.out_width + ox) * kLanes + o,
                      ((oy + row) * l.in_width + ox + column) * kLanes + c,
                      (((block * l.kernel[0] + row) * l.kernel[1] + column) * kLanes + c) * kLanes +
                          o);
}

std::vector<FewChannelsLoop> few_channels_cases() {
  std::vector<FewChannelsLoop> cases;
  for (const std::int64_t channels : {1, 3, 6, 8})
    for (const std::int64_t width : {1, 2, 5, 7, 13, 14, 20, 28})
      cases.push_back({.in_height = 5,
                       .in_width = width + 4,
                       .out_height = 3,
                       .out_width = width,
                       .channels = channels,
                       .out_blocks = 2,
                       .kernel = {3, 5},
                       .with_relu = false});
  return cases;
}

}  // namespace

TEST_CASE("every instruction set computes the same linear layer", "[cpu]") {
  const auto [name, loops] = GENERATE(from_range(loops_here()));
  const std::int64_t samples = GENERATE(1, 2, 5, 7, 14, 15, 40), out = GENERATE(10, 16, 20, 70);
  constexpr std::int64_t in = 19;
  CAPTURE(name, samples, out);
  const std::int64_t panels = (out + kPanel - 1) / kPanel;
  const std::vector<float> x = numbers(samples * in, 0.3f), w = numbers(panels * in * kPanel, 0.9f),
                           bias = numbers(panels * kPanel, 1.7f);
  std::vector<float> y(at(samples * out), 7.0f);
  loops->linear_forward({.x = x.data(),
                         .weights = w.data(),
                         .bias = bias.data(),
                         .y = y.data(),
                         .samples = samples,
                         .in = in,
                         .out = out},
                        0, panels * linear_tiles(samples), panels * linear_tiles(samples));
  std::vector<double> expected(y.size());
  for (std::int64_t n = 0; n < samples; ++n)
    for (std::int64_t o = 0; o < out; ++o) {
      double sum = static_cast<double>(bias[at(o)]);
      for (std::int64_t i = 0; i < in; ++i)
        sum += static_cast<double>(x[at(n * in + i)]) *
               static_cast<double>(w[at((o / kPanel * in + i) * kPanel + o % kPanel)]);
      expected[at(n * out + o)] = sum;
    }
  check_near(y, expected);
}

TEST_CASE("every instruction set computes the same convolution of few channels", "[cpu]") {
  const auto [name, loops] = GENERATE(from_range(loops_here()));
  const FewChannelsLoop l = GENERATE(from_range(few_channels_cases()));
  CAPTURE(name, l.channels, l.out_width);
  const std::int64_t outputs = l.out_blocks * l.out_height * l.out_width * kLanes,
                     weights = l.out_blocks * l.kernel[0] * l.kernel[1] * kLanes * kLanes;
  const std::vector<float> x = image(l), w = numbers(weights, 0.9f), dy = numbers(outputs, 0.4f);

  std::vector<float> y(at(outputs), 7.0f);
  loops->few_channels_forward(l, x.data(), w.data(), nullptr, y.data());
  std::vector<double> expected(y.size());
  each_product(l, [&](std::int64_t output, std::int64_t input, std::int64_t weight) {
    expected[at(output)] += static_cast<double>(x[at(input)]) * static_cast<double>(w[at(weight)]);
  });
  check_near(y, expected);

  std::vector<float> dw(at(weights));
  for (std::int64_t block = 0; block < l.out_blocks; ++block)
    for (std::int64_t row = 0; row < l.kernel[0]; ++row)
      loops->few_channels_weight(l, block, row, x.data(), dy.data(), dw.data());
  std::vector<double> slopes(dw.size());
  each_product(l, [&](std::int64_t output, std::int64_t input, std::int64_t weight) {
    slopes[at(weight)] += static_cast<double>(x[at(input)]) * static_cast<double>(dy[at(output)]);
  });
  check_near(dw, slopes);
}

// A loop over three samples of 4x4 images, its operands, and what it adds to.
struct SmallImages {
  SmallImagesLoop loop;
  std::vector<float> x, dy, before;

  explicit SmallImages(std::int64_t stride)
      : loop{.samples = 3,
             .in_height = 4,
             .in_width = 4,
             .out_height = 4 / stride,
             .out_width = 4 / stride,
             .kernel = {3, 3},
             .stride = {stride, stride},
             .padding = {1, 1},
             .accumulate = true},
        x(numbers(loop.samples * 16 * kLanes, 0.7f)),
        dy(numbers(loop.samples * pixels() * kLanes, 0.4f)),
        before(numbers(9 * kLanes * kLanes, 0.2f)) {}

  std::int64_t pixels() const { return loop.out_height * loop.out_width; }

  std::vector<double> sums() const {
    std::vector<double> sums(before.begin(), before.end());
    for (std::int64_t i = 0; i < loop.samples * pixels() * 9; ++i) {
      const std::int64_t tap = i % 9, pixel = i / 9 % pixels(), n = i / 9 / pixels();
      const std::int64_t iy = pixel / loop.out_width * loop.stride[0] + tap / 3 - 1,
                         ix = pixel % loop.out_width * loop.stride[1] + tap % 3 - 1;
      if (iy < 0 || iy >= 4 || ix < 0 || ix >= 4) continue;
      for (std::int64_t c = 0; c < kLanes; ++c)
        for (std::int64_t o = 0; o < kLanes; ++o)
          sums[at((tap * kLanes + c) * kLanes + o)] +=
              static_cast<double>(x[at(((n * 4 + iy) * 4 + ix) * kLanes + c)]) *
              static_cast<double>(dy[at((n * pixels() + pixel) * kLanes + o)]);
    }
    return sums;
  }
};

TEST_CASE("every instruction set computes the same weight gradient of small images", "[cpu]") {
  const auto [name, loops] = GENERATE(from_range(loops_here()));
  const std::int64_t stride = GENERATE(1, 2);
  CAPTURE(name, stride);
  const SmallImages images(stride);
  std::vector<float> dw = images.before;
  loops->small_images_weight(images.loop, images.x.data(), images.dy.data(), dw.data());
  check_near(dw, images.sums());
}

#if defined(__x86_64__)
// Returns each value as bf16, and leaves what bf16 keeps of it in `values`.
std::vector<Bf16> round_in_place(std::vector<float>& values) {
  std::vector<Bf16> rounded;
  for (float& value : values) {
    rounded.push_back(from_float<Bf16>(value));
    value = to_float(rounded.back());
  }
  return rounded;
}

// Samples in pairs, the last one alone.
std::vector<Bf16Pair> pairs_of(const std::vector<Bf16>& values, std::int64_t samples) {
  const std::int64_t elements = std::ssize(values) / samples;
  std::vector<Bf16Pair> pairs(at((samples + 1) / 2 * elements));
  for (std::int64_t n = 0; n < samples; n += 2) {
    const Bf16* first = values.data() + n * elements;
    avx512_bf16_product_loops().pair_up(first, n + 1 < samples ? first + elements : nullptr,
                                        pairs.data() + n / 2 * elements, elements);
  }
  return pairs;
}

TEST_CASE("pairs of bf16 make the same weight gradient of small images", "[cpu]") {
  if (!__builtin_cpu_supports("avx512bf16")) {
    WARN("skipped: this machine has no instruction for products of bf16");
    return;
  }
  const std::int64_t stride = GENERATE(1, 2);
  CAPTURE(stride);
  SmallImages images(stride);
  const std::vector<Bf16> x = round_in_place(images.x), dy = round_in_place(images.dy);
  const std::vector<Bf16Pair> x_pairs = pairs_of(x, images.loop.samples),
                              dy_pairs = pairs_of(dy, images.loop.samples);
  SmallImagesLoop of_pairs = images.loop;
  of_pairs.samples = 2;
  std::vector<float> dw = images.before;
  avx512_bf16_product_loops().small_images_weight(of_pairs, x_pairs.data(), dy_pairs.data(),
                                                  dw.data());
  check_near(dw, images.sums());
}
#endif

TEST_CASE("every instruction set transposes tiles, whole ones and parts", "[cpu]") {
  const auto [name, loops] = GENERATE(from_range(loops_here()));
  const std::int64_t rows = GENERATE(1, 7, 16), columns = GENERATE(3, 16);
  CAPTURE(name, rows, columns);
  const std::vector<float> from = numbers(rows * 20, 0.7f);
  std::vector<float> to(at(columns * 17), 7.0f), expected = to;
  loops->f32.transpose_tile(from.data(), 20, rows, to.data(), 17, columns);
  for (std::int64_t c = 0; c < columns; ++c)
    for (std::int64_t r = 0; r < kLanes; ++r)
      expected[at(c * 17 + r)] = r < rows ? from[at(r * 20 + c)] : 0;
  CHECK(to == expected);
}
