// The inner loops of this backend's own kernels, each over a range of its work: compiled once per
// instruction set (vector_loops_*.cpp), picked once for the machine. They neither allocate nor
// start threads, and what one output element is summed from never depends on the range, so that
// results do not depend on the number of threads.
//
// Images are in blocks of 16 channels, [sample][C/16][H][W][16]: a vector is 16 channels of a
// pixel.
#pragma once

#include <cstdint>
#include <variant>

#include "backend/backend.hpp"
#include "backend/cpu/element.hpp"
#include "backend/cpu/loops/sequence_loops.hpp"
#include "backend/dropout_mask.hpp"
#include "graph/layer_spec.hpp"

namespace pipetrain::cpu {

constexpr std::int64_t kLanes = 16;  // channels of a block
constexpr std::int64_t kWeightBlock =
    kLanes * kLanes;                 // weights of a block of inputs and one of outputs
constexpr std::int64_t kPanel = 32;  // outputs of a panel of a linear layer's weights

// Rows of a tile that stays in registers: 28 sums, two vectors of weights and a value are 31. Work
// is split into as few tiles as that allows, all about as high.
constexpr std::int64_t kTileRows = 14;
constexpr std::int64_t linear_tiles(std::int64_t rows) {
  return (rows + kTileRows - 1) / kTileRows;
}

// y = x w + b. Weights are panels [ceil(out / 32)][in][32], zero beyond `out`.
struct LinearForwardLoop {
  const float *x, *weights, *bias;  // bias: null, or padded as the weights are
  float* y;
  std::int64_t samples, in, out;
  bool with_relu = false;
  const float* mask = nullptr;  // as y: where it is not above zero, y becomes zero
  std::int64_t cut = 0;         // none, or: the sums over inputs before and after it are added last
};
// dx = dy w^T, samples by 32 and inputs by 16.
struct LinearInputLoop {
  const float *gradient, *weights;  // dy transposed: [samples / 32][out][32]
  float* dx;
  std::int64_t samples, in, out;
  const float* mask = nullptr;  // as dx
  // Where there is a cut: room for the sums of either side, [2][in][samples] in tiles, and of each
  // block of 16 inputs how many of the two are there, at first 0.
  float* sums = nullptr;
  std::uint32_t* arrived = nullptr;
};
// Where the sum over the outputs that makes an input's gradient is cut in two, one half of the
// panels each; 0 where there is one panel. Two threads then read the panels that they read in the
// forward and update: weights that both have in their caches are slow to update.
constexpr std::int64_t linear_cut(std::int64_t out) {
  return (out + kPanel - 1) / kPanel / 2 * kPanel;
}
// Blocks of 16 inputs, for either half.
constexpr std::int64_t linear_input_units(std::int64_t in, std::int64_t out) {
  return in / kLanes * (linear_cut(out) > 0 ? 2 : 1);
}
// Rows of a panel of dy together: its end is zeros. A thread's own.
struct GatheredPanel {
  std::int64_t panel = -1;  // which one is there
  float* rows;              // [samples][32]
};
struct LinearWeightLoop {
  const float *x, *gradient;  // dy: [samples][out]
  float *weights, *bias;      // what they are gradients of; bias may be null
  std::int64_t samples, in, out;
  bool accumulate;
  // Null, or: updates the weights by sgd instead of storing their gradient, and puts the sum of its
  // squares in a unit's place.
  const UpdateRule* rule = nullptr;
  const UpdateArguments* update = nullptr;
  double* squares = nullptr;
};

// A convolution of few channels, stride 1, no padding, over one block of input channels: the
// library would multiply the zeros that fill the block up. Weights are [out /
// 16][kh][kw][16c][16o].
struct FewChannelsLoop {
  std::int64_t in_height, in_width, out_height, out_width, channels, out_blocks;
  Pair kernel;
  bool with_relu;
};
constexpr std::int64_t kFewChannels = 8;

// The weight gradient of a convolution of images of few pixels: the library spends its time on the
// padding and on writing. A tile is 16 input channels by 16 outputs, its pixels of all samples
// gathered: [sample][H][W][16], or, of products of bf16, [pair of samples][H][W][16].
struct SmallImagesLoop {
  std::int64_t samples, in_height, in_width, out_height, out_width;
  Pair kernel, stride, padding;
  bool accumulate;
};
constexpr std::int64_t kSmallImagePixels = 16;  // of the output, at most
constexpr std::int64_t kSmallImagePixelsBf16 = 64;

// A convolution of 3 x 3, stride 1, padding 1, of images of even height and width, by minimal
// filtering (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2016, section 4.1):
// a tile of 2 x 2 outputs and a pair of channels takes 16 products instead of 36, of values that
// are sums and differences of 4 x 4 inputs. Each of the 16 is a point, of all tiles and channels a
// matrix. Tiles are counted over all samples, row by row.
struct WinogradLoop {
  std::int64_t samples, height, width;
  std::int64_t channels, outputs;  // whole panels
  bool with_relu = false;

  constexpr std::int64_t tiles() const { return samples * (height / 2) * (width / 2); }
};
constexpr std::int64_t kWinogradPoints = 16;
constexpr std::int64_t kWinogradPanel = 64;  // columns of points that are together
constexpr std::int64_t winograd_scratch(std::int64_t channels, std::int64_t tiles) {  // floats
  return kWinogradPoints * (tiles * (channels + kLanes + kWinogradPanel) + kLanes);
}

// Sixteen channels (fewer at the end of a vector) over all samples and pixels.
struct ChannelWalk {
  std::int64_t samples, sample_stride, pixels, pixel_stride, lanes;
};
struct BatchNormLoop {
  ChannelWalk walk;
  const float *mean, *scale;  // scale: 1 / sqrt(var + eps); both [16]
  const std::uint8_t* kept;   // null, or 0 where the relu that is fused gave 0
};

struct PoolLoop {  // of one block of one sample
  std::int64_t in_height, in_width, out_height, out_width;
  Pair kernel, stride, padding;
  bool after_relu;  // max_pool: the input is a relu's output, whose gradient is masked here too
};

// y = f(x) and dx = dy f'(x) of an elementwise kind.
template <class E, class Kind>
struct FunctionLoop {
  void (*forward)(const Kind&, const E* x, E* y, std::int64_t count);
  void (*backward)(const Kind&, const E* x, const E* dy, E* dx, std::int64_t count);
};
// One of each kind; it converts to the kind's own.
template <class E, class Spec>
struct FunctionLoops;
template <class E, class... Kinds>
struct FunctionLoops<E, std::variant<Kinds...>> : FunctionLoop<E, Kinds>... {};

// Over stored values, float or Bf16. Sums, statistics and parameters are f32 with both.
template <class E>
struct ElementLoops {
  void (*relu_forward)(const E* x, E* y, std::int64_t count);
  void (*relu_backward)(const E* y, const E* dy, E* dx, std::int64_t count);
  void (*add)(const E* a, const E* b, E* sum, std::int64_t count, bool with_relu);
  void (*drop)(const E* x, const std::uint8_t* kept, float scale, E* y, std::int64_t count);

  // Per lane: sum(x - shift), sum((x - shift)^2).
  void (*moments)(const ChannelWalk&, const E* x, const float* shift, double* sum, double* squares);
  // kept: null, or where to note what the relu keeps
  void (*normalise)(const BatchNormLoop&, const E* x, const float* gamma, const float* beta, E* y,
                    std::uint8_t* kept, bool with_relu);
  // Per lane: sum(dy), sum(dy (x - mean)).
  void (*gradient_sums)(const BatchNormLoop&, const E* x, const E* dy, double* sum,
                        double* product);
  // dx = factor (dy - shift - (x - mean) slope)
  void (*normalise_backward)(const BatchNormLoop&, const E* x, const E* dy, const float* factor,
                             const float* shift, const float* slope, E* dx);

  void (*max_pool)(const PoolLoop&, const E* x, E* y, std::uint8_t* taps);  // taps: or null
  void (*max_pool_backward)(const PoolLoop&, const std::uint8_t* taps, const E* dy, E* dx);
  void (*avg_pool)(const PoolLoop&, const E* x, E* y);
  void (*avg_pool_backward)(const PoolLoop&, const E* dy, E* dx);

  // Up to 16 rows of 16 (the others are zeros) -> up to 16 columns, each written as a row of 16.
  void (*transpose_tile)(const E* from, std::int64_t from_stride, std::int64_t rows, E* to,
                         std::int64_t to_stride, std::int64_t columns);

  // sums[lanes] += each of `count` rows, which are `stride` apart
  void (*add_rows)(const E* rows, std::int64_t count, std::int64_t stride, std::int64_t lanes,
                   float* sums);
  void (*widen)(const E* from, float* to, std::int64_t count);
  void (*narrow)(const float* from, E* to, std::int64_t count);

  FunctionLoops<E, ElementwiseSpec> functions;
  SequenceLoops<E> sequences;
};

struct VectorLoops {
  // Units: panels times linear_tiles(samples) in the forward, linear_tiles(in) in the other.
  // Weights are prefetched for units up to `next_end`, which this thread is going to be given next.
  void (*linear_forward)(const LinearForwardLoop&, std::int64_t unit_begin, std::int64_t unit_end,
                         std::int64_t next_end);
  // linear_input_units(). The call with the second half of a block ends it.
  void (*linear_backward_input)(const LinearInputLoop&, std::int64_t unit_begin,
                                std::int64_t unit_end);
  void (*linear_backward_weight)(const LinearWeightLoop&, GatheredPanel&, std::int64_t unit_begin,
                                 std::int64_t unit_end);
  // What linear_backward_weight does with its gradients, by gradients that are in memory.
  void (*linear_update)(const UpdateRule&, const UpdateArguments&, std::int64_t in,
                        std::int64_t unit_begin, std::int64_t unit_end, double* squares);

  // One sample.
  void (*few_channels_forward)(const FewChannelsLoop&, const float* x, const float* weights,
                               const float* bias, float* y);
  // Adds one sample's gradient of the weights of an output block and a row of taps.
  void (*few_channels_weight)(const FewChannelsLoop&, std::int64_t out_block, std::int64_t row,
                              const float* x, const float* dy, float* weights);
  // weights: [kh][kw][16c][16o]
  void (*small_images_weight)(const SmallImagesLoop&, const float* x, const float* dy,
                              float* weights);

  // Weights as points, [panel][point][channels][64], are made of each block, [3][3][16c][16o]: rows
  // are its channels, or, mirrored, for the input gradient, its outputs.
  void (*winograd_weights)(const float* weights, bool mirrored, float* points,
                           std::int64_t point_stride);
  // Tiles from `begin` to `end`. bias: or null. Scratch: winograd_scratch().
  void (*winograd_convolve)(const WinogradLoop&, const float* x, const float* weights,
                            const float* bias, float* y, std::int64_t begin, std::int64_t end,
                            float* scratch);
  // Of 16 channels or outputs, which x and dy begin with: a tile is a row of 16 or 64.
  void (*winograd_inputs)(const WinogradLoop&, const float* x, std::int64_t begin, std::int64_t end,
                          float* points, std::int64_t point_stride);
  void (*winograd_gradients)(const WinogradLoop&, const float* dy, std::int64_t begin,
                             std::int64_t end, float* points, std::int64_t point_stride);
  // Adds a point's products over tiles, of 16 channels by all outputs: strides are a panel's.
  void (*winograd_products)(const WinogradLoop&, const float* inputs, const float* gradients,
                            std::int64_t tiles, std::int64_t gradient_stride, float* weights,
                            std::int64_t weight_stride);
  // The gradient of a block [3][3][16c][16o] of the weights, by that of its points.
  void (*winograd_weight_gradient)(const float* points, std::int64_t point_stride, bool accumulate,
                                   float* weights);

  // kept[i] = 1 where dropout keeps element 4 * block + i, else 0: of whole blocks of 4 elements.
  // The mask drops some and keeps some: dropped_below is less than 2^32.
  void (*keep_elements)(const DropoutMask::Parts&, std::int64_t block, std::int64_t blocks,
                        std::uint8_t* kept);

  void (*update)(const UpdateRule&, const UpdateArguments&, std::int64_t begin, std::int64_t end);
  void (*combine)(const Combination&, std::int64_t begin, std::int64_t end);
  void (*add_up)(const Summation&, std::int64_t begin, std::int64_t end);
  double (*sum_of_squares)(const float* values, std::int64_t count);

  ElementLoops<float> f32;
  ElementLoops<Bf16> bf16;
};

struct Bf16Pair {
  std::uint32_t bits;  // the first in the lower half
};
// By an instruction that adds the products of two pairs to an f32: for machines that have it.
struct Bf16ProductLoops {
  // Of first[i] and second[i]; second: or null, zeros. Whole vectors of 16.
  void (*pair_up)(const Bf16* first, const Bf16* second, Bf16Pair* pairs, std::int64_t count);
  // As that of VectorLoops.
  void (*small_images_weight)(const SmallImagesLoop&, const Bf16Pair* x, const Bf16Pair* dy,
                              float* weights);
};

// The loops for this machine.
const VectorLoops& vector_loops();
template <class E>
const ElementLoops<E>& element_loops();
template <>
const ElementLoops<float>& element_loops<float>();
template <>
const ElementLoops<Bf16>& element_loops<Bf16>();
const Bf16ProductLoops& bf16_product_loops();  // where instruction_set() is Avx512Bf16 only

const VectorLoops& avx512_loops();
const VectorLoops& avx2_loops();
const VectorLoops& portable_loops();
// By the processor's own instruction for rounding, which makes zeros of denormals.
const ElementLoops<Bf16>& avx512_bf16_loops();
const Bf16ProductLoops& avx512_bf16_product_loops();

}  // namespace pipetrain::cpu
