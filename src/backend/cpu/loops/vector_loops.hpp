// The inner loops of this backend's own kernels, each over a range of its work. They are compiled
// once per instruction set (vector_loops_*.cpp), and the set for the machine is picked once. They
// neither allocate nor start threads, and how one output element is summed never depends on the
// range, so results do not depend on the number of threads.
//
// Images are in blocks of 16 channels, [sample][C/16][H][W][16]: a vector holds 16 channels of a
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

constexpr std::int64_t kLanes = 16;  // channels per block
constexpr std::int64_t kWeightBlock =
    kLanes * kLanes;                 // weights between a block of inputs and a block of outputs
constexpr std::int64_t kPanel = 32;  // outputs per panel of a linear layer's weights

// Rows of a tile that stays in registers: 28 sums, two vectors of weights and a value make 31. Work
// is split into as few tiles as that allows, all of about equal height.
constexpr std::int64_t kTileRows = 14;
constexpr std::int64_t linear_tiles(std::int64_t rows) {
  return (rows + kTileRows - 1) / kTileRows;
}

// y = x w + b. Weights are panels [ceil(out / 32)][in][32], zero beyond `out`.
struct LinearForwardLoop {
  const float *x, *weights, *bias;  // bias: null, or padded like the weights
  float* y;
  std::int64_t samples, in, out;
  bool with_relu = false;
  const float* mask = nullptr;  // laid out as y: where it is not above zero, y becomes zero
  std::int64_t cut = 0;         // if not 0: inputs before and after it are summed apart, then added
};
// dx = dy w^T, in steps of 32 samples and 16 inputs.
struct LinearInputLoop {
  const float *gradient, *weights;  // gradient: dy transposed, [samples / 32][out][32]
  float* dx;
  std::int64_t samples, in, out;
  const float* mask = nullptr;  // laid out as dx
  // With a cut: room for the sums on either side of it, [2][in][samples] in tiles, and for each
  // block of 16 inputs how many of its two sums have arrived, initially 0.
  float* sums = nullptr;
  std::uint32_t* arrived = nullptr;
};
// Where the sum over the outputs, which makes an input's gradient, is cut in two, half of the
// panels each; 0 if there is only one panel. Each of two threads then reads the panels that it also
// reads in the forward and the update: weights that are in both threads' caches are slow to update.
constexpr std::int64_t linear_cut(std::int64_t out) {
  return (out + kPanel - 1) / kPanel / 2 * kPanel;
}
// Blocks of 16 inputs, counted once per half.
constexpr std::int64_t linear_input_units(std::int64_t in, std::int64_t out) {
  return in / kLanes * (linear_cut(out) > 0 ? 2 : 1);
}
// The rows of one panel of dy, gathered; zero-padded. Each thread has its own.
struct GatheredPanel {
  std::int64_t panel = -1;  // which panel is gathered
  float* rows;              // [samples][32]
};
struct LinearWeightLoop {
  const float *x, *gradient;  // gradient: dy, [samples][out]
  float *weights, *bias;      // their gradients, written; bias may be null
  std::int64_t samples, in, out;
  bool accumulate;
  // Null, or: update the weights by sgd instead of storing their gradient, and store the gradient's
  // sum of squares in the unit's entry of `squares`.
  const UpdateRule* rule = nullptr;
  const UpdateArguments* update = nullptr;
  double* squares = nullptr;
};
// sums (+)= left^T right: the weight gradient of a linear layer over rows. One of `left` and
// `right` is its input, the other one its output gradient.
struct RowsWeightLoop {
  const float *left, *right;  // [rows][height], [rows][width]
  float* sums;                // [height][width]
  std::int64_t rows, height, width;
  bool accumulate;
};

// A convolution of few channels, stride 1, no padding, over one block of input channels: the
// library would multiply the zeros that pad the block. Weights are [out / 16][kh][kw][16c][16o].
struct FewChannelsLoop {
  std::int64_t in_height, in_width, out_height, out_width, channels, out_blocks;
  Pair kernel;
  bool with_relu;
};
constexpr std::int64_t kFewChannels = 8;

// The weight gradient of a convolution of images with few pixels, where the library spends its time
// on padding and writing. A tile is 16 input channels by 16 outputs, with the pixels of all samples
// gathered: [sample][H][W][16] or, for bf16 products, [pair of samples][H][W][16].
struct SmallImagesLoop {
  std::int64_t samples, in_height, in_width, out_height, out_width;
  Pair kernel, stride, padding;
  bool accumulate;
};
constexpr std::int64_t kSmallImagePixels = 16;  // the most that an output may have
constexpr std::int64_t kSmallImagePixelsBf16 = 64;

// A 3 x 3 convolution, stride 1, padding 1, of images of even height and width, by Winograd F(2x2,
// 3x3), minimal filtering (Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2016,
// section 4.1): for a tile of 2 x 2 outputs and a pair of channels it takes 16 multiplications
// instead of 36, of values that are sums and differences of 4 x 4 inputs. Each of the 16 is a
// point; over all tiles and channels, a point is a matrix. Tiles are counted over all samples, row
// by row.
struct WinogradLoop {
  std::int64_t samples, height, width;
  std::int64_t channels, outputs;  // multiples of kWinogradPanel
  bool with_relu = false;

  constexpr std::int64_t tiles() const { return samples * (height / 2) * (width / 2); }
};
constexpr std::int64_t kWinogradPoints = 16;
constexpr std::int64_t kWinogradPanel = 64;  // columns of a point that are stored together
constexpr std::int64_t winograd_scratch(std::int64_t channels, std::int64_t tiles) {  // in floats
  return kWinogradPoints * (tiles * (channels + kLanes + kWinogradPanel) + kLanes);
}

// Sixteen channels (fewer at the end of a vector), over all samples and pixels.
struct ChannelWalk {
  std::int64_t samples, sample_stride, pixels, pixel_stride, lanes;
};
struct BatchNormLoop {
  ChannelWalk walk;
  const float *mean, *scale;  // scale: 1 / sqrt(var + eps); both [16]
  const std::uint8_t* kept;   // null, or 0 where the fused relu gave 0
};

struct PoolLoop {  // for one block of one sample
  std::int64_t in_height, in_width, out_height, out_width;
  Pair kernel, stride, padding;
  bool after_relu;  // max_pool: the input is a relu's output, whose gradient is masked here too
};

// y = f(x) and dx = dy f'(x), for one elementwise kind.
template <class E, class Kind>
struct FunctionLoop {
  void (*forward)(const Kind&, const E* x, E* y, std::int64_t count);
  void (*backward)(const Kind&, const E* x, const E* dy, E* dx, std::int64_t count);
};
// One FunctionLoop per kind; converts to the loop of any kind.
template <class E, class Spec>
struct FunctionLoops;
template <class E, class... Kinds>
struct FunctionLoops<E, std::variant<Kinds...>> : FunctionLoop<E, Kinds>... {};

// Loops over stored values, float or Bf16. Sums, statistics and parameters are f32 with both,
// except for a pool's gradient where up to 16 windows overlap: it is rounded as each is added.
template <class E>
struct ElementLoops {
  void (*relu_forward)(const E* x, E* y, std::int64_t count);
  void (*relu_backward)(const E* y, const E* dy, E* dx, std::int64_t count);
  void (*add)(const E* a, const E* b, E* sum, std::int64_t count, bool with_relu);
  void (*drop)(const E* x, const std::uint8_t* kept, float scale, E* y, std::int64_t count);

  // Per lane: sum(x - shift), sum((x - shift)^2).
  void (*moments)(const ChannelWalk&, const E* x, const float* shift, double* sum, double* squares);
  // kept: null, or where to record which elements the relu keeps
  void (*normalise)(const BatchNormLoop&, const E* x, const float* gamma, const float* beta, E* y,
                    std::uint8_t* kept, bool with_relu);
  // Per lane: sum(dy), sum(dy (x - mean)).
  void (*gradient_sums)(const BatchNormLoop&, const E* x, const E* dy, double* sum,
                        double* product);
  // dx = factor (dy - shift - (x - mean) slope)
  void (*normalise_backward)(const BatchNormLoop&, const E* x, const E* dy, const float* factor,
                             const float* shift, const float* slope, E* dx);

  void (*max_pool)(const PoolLoop&, const E* x, E* y, std::uint8_t* taps);  // taps may be null
  void (*max_pool_backward)(const PoolLoop&, const std::uint8_t* taps, const E* dy, E* dx);
  void (*avg_pool)(const PoolLoop&, const E* x, E* y);
  void (*avg_pool_backward)(const PoolLoop&, const E* dy, E* dx);

  // Up to 16 rows of 16 (missing rows are zeros) -> up to 16 columns, each written as a row of 16.
  void (*transpose_tile)(const E* from, std::int64_t from_stride, std::int64_t rows, E* to,
                         std::int64_t to_stride, std::int64_t columns);

  // sums[lanes] += each of `count` rows, `stride` apart.
  void (*add_rows)(const E* rows, std::int64_t count, std::int64_t stride, std::int64_t lanes,
                   float* sums);
  void (*widen)(const E* from, float* to, std::int64_t count);
  void (*narrow)(const float* from, E* to, std::int64_t count);

  FunctionLoops<E, ElementwiseSpec> functions;
  SequenceLoops<E> sequences;
};

struct VectorLoops {
  // Units: panels times linear_tiles(samples) here, times linear_tiles(in) for the weight gradient.
  // Prefetches weights for units up to `next_end`, which this thread is to be given next.
  void (*linear_forward)(const LinearForwardLoop&, std::int64_t unit_begin, std::int64_t unit_end,
                         std::int64_t next_end);
  // Units: linear_input_units(). The call that computes the second half of a block finishes it.
  void (*linear_backward_input)(const LinearInputLoop&, std::int64_t unit_begin,
                                std::int64_t unit_end);
  void (*linear_backward_weight)(const LinearWeightLoop&, GatheredPanel&, std::int64_t unit_begin,
                                 std::int64_t unit_end);
  // Units: panels of `width` times linear_tiles(height). null: a tile does not fit the registers.
  void (*rows_weight)(const RowsWeightLoop&, GatheredPanel&, std::int64_t unit_begin,
                      std::int64_t unit_end);
  // The update that linear_backward_weight does, from gradients that are in memory.
  void (*linear_update)(const UpdateRule&, const UpdateArguments&, std::int64_t in,
                        std::int64_t unit_begin, std::int64_t unit_end, double* squares);

  // For one sample.
  void (*few_channels_forward)(const FewChannelsLoop&, const float* x, const float* weights,
                               const float* bias, float* y);
  // Adds one sample's gradient of the weights, for one output block and one row of taps.
  void (*few_channels_weight)(const FewChannelsLoop&, std::int64_t out_block, std::int64_t row,
                              const float* x, const float* dy, float* weights);
  // weights: [kh][kw][16c][16o]
  void (*small_images_weight)(const SmallImagesLoop&, const float* x, const float* dy,
                              float* weights);

  // Transforms each block of weights, [3][3][16c][16o], to points, [panel][point][channels][64].
  // The rows of a point are the block's channels; if mirrored, for the input gradient, its outputs.
  void (*winograd_weights)(const float* weights, bool mirrored, float* points,
                           std::int64_t point_stride);
  // Tiles begin .. end - 1. bias may be null. Scratch: winograd_scratch().
  void (*winograd_convolve)(const WinogradLoop&, const float* x, const float* weights,
                            const float* bias, float* y, std::int64_t begin, std::int64_t end,
                            float* scratch);
  // For the 16 channels or outputs at which x or dy begins: a tile makes a row of 16 or 64.
  void (*winograd_inputs)(const WinogradLoop&, const float* x, std::int64_t begin, std::int64_t end,
                          float* points, std::int64_t point_stride);
  void (*winograd_gradients)(const WinogradLoop&, const float* dy, std::int64_t begin,
                             std::int64_t end, float* points, std::int64_t point_stride);
  // Adds a point's products over tiles, for 16 channels by all outputs: strides are between panels.
  void (*winograd_products)(const WinogradLoop&, const float* inputs, const float* gradients,
                            std::int64_t tiles, std::int64_t gradient_stride, float* weights,
                            std::int64_t weight_stride);
  // The gradient of a block of the weights, [3][3][16c][16o], from the gradient of its points.
  void (*winograd_weight_gradient)(const float* points, std::int64_t point_stride, bool accumulate,
                                   float* weights);

  // kept[i] = 1 where dropout keeps element 4 * block + i, else 0, for whole blocks of 4 elements.
  // The mask must keep some elements: dropped_below is less than 2^32.
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
  std::uint32_t bits;  // the first value is in the lower half
};
// With the instruction that adds the products of two pairs to an f32, on machines that have it.
struct Bf16ProductLoops {
  // Pairs first[i] with second[i]; a null `second`: with zeros. In whole vectors of 16.
  void (*pair_up)(const Bf16* first, const Bf16* second, Bf16Pair* pairs, std::int64_t count);
  // As in VectorLoops.
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
const Bf16ProductLoops& bf16_product_loops();  // only if instruction_set() is Avx512Bf16

const VectorLoops& avx512_loops();
const VectorLoops& avx2_loops();
const VectorLoops& portable_loops();
// Rounded by the processor's own instruction, which flushes denormals to zero.
const ElementLoops<Bf16>& avx512_bf16_loops();
const Bf16ProductLoops& avx512_bf16_product_loops();

}  // namespace pipetrain::cpu
