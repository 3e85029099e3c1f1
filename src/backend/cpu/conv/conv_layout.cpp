#include "backend/cpu/conv/conv_layout.hpp"

#include "backend/cpu/conv/winograd.hpp"
#include "backend/cpu/instruction_set.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/onednn.hpp"
#include "backend/cpu/parallel.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Kind = ConvLayout::Kind;

constexpr std::int64_t kNarrowBlock = 8;

Desc f32(const dnnl::memory::dims& dims, Tag tag) {
  return {dims, dnnl::memory::data_type::f32, tag};
}
Desc bf16(const dnnl::memory::dims& dims, Tag tag) {
  return {dims, dnnl::memory::data_type::bf16, tag};
}

Kind kind_of(const Conv2d& spec, const Problem& problem) {
  const std::int64_t channels = problem.inputs[0].channels;
  if (!problem.inputs[0].blocked) return Kind::Plain;
  if (spec.groups > 1 && spec.groups == channels && spec.out_channels == channels)
    return Kind::Depthwise;
  return Kind::Blocked;
}

// The most groups of whole blocks into which the layer's groups can be merged.
std::int64_t merged_groups(const Conv2d& spec, std::int64_t channels, std::int64_t block) {
  for (std::int64_t groups = spec.groups; groups > 1; --groups)
    if (spec.groups % groups == 0 && channels / groups % block == 0 &&
        spec.out_channels / groups % block == 0)
      return groups;
  return 1;
}

// The library's pointwise kernels want the blocks of the input gradient's weights the other way
// round.
bool is_pointwise(const Conv2d& spec) {
  return spec.kernel == Pair{1, 1} && spec.padding == Pair{0, 0};
}

// An image of one channel, or of one block of channels, also counts as nhwc, for which there are
// more kernels.
Tag image_tag(const ValueLayout& image, std::int64_t channels, std::int64_t block) {
  if (block < kLanes && channels == (image.blocked ? kLanes : 1)) return Tag::nhwc;
  return image.blocked ? Tag::nChw16c : Tag::nchw;
}

void set_weights(ConvLayout& l, const Conv2d& spec) {
  const auto [height, width] = spec.kernel;
  const bool narrow = l.block == kNarrowBlock, pointwise = is_pointwise(spec);
  if (l.kind == Kind::Plain) {
    l.weights = f32({l.outputs, l.channels, height, width}, narrow ? Tag::Ohwi8o : Tag::Ohwi16o);
  } else if (l.kind == Kind::Depthwise) {
    l.weights = f32({l.channels, 1, 1, height, width}, narrow ? Tag::Goihw8g : Tag::Goihw16g);
  } else if (l.groups > 1) {
    const dnnl::memory::dims dims{l.groups, l.outputs / l.groups, l.channels / l.groups, height,
                                  width};
    l.weights = f32(dims, narrow ? Tag::gOIhw8i8o : Tag::gOIhw16i16o);
    l.packed_weights = f32(dims, narrow      ? Tag::gOIhw8o8i
                                 : pointwise ? Tag::gIOhw16o16i
                                             : Tag::gOIhw16o16i);
  } else {
    const dnnl::memory::dims dims{l.outputs, l.channels, height, width};
    l.weights = f32(dims, narrow ? Tag::OIhw8i8o : Tag::OIhw16i16o);
    l.packed_weights = f32(dims, narrow      ? Tag::OIhw8o8i
                                 : pointwise ? Tag::IOhw16o16i
                                             : Tag::OIhw16o16i);
    if (l.multiplies_bf16) {
      l.read_weights = bf16(dims, Tag::OIhw8i16o2i);
      l.packed_weights = bf16(dims, pointwise ? Tag::IOhw8o16i2o : Tag::OIhw8o16i2o);
    }
  }
  if (l.kind != Kind::Blocked) l.packed_weights = l.weights;
  if (!l.multiplies_bf16) l.read_weights = l.weights;
  l.weight_elements = static_cast<std::int64_t>(l.weights.get_size() / sizeof(float));
}

}  // namespace

ConvLayout conv_layout(const Conv2d& spec, const Problem& problem) {
  const ValueLayout &in = problem.inputs[0], &out = problem.output;
  ConvLayout l;
  l.kind = kind_of(spec, problem);
  l.block = has_avx512() ? kLanes : kNarrowBlock;
  l.channels = in.blocked ? round_up(in.channels, l.block) : in.channels;
  l.outputs = round_up(out.channels, l.block);
  if (l.kind == Kind::Blocked) l.groups = merged_groups(spec, in.channels, l.block);
  l.merged = l.kind == Kind::Blocked && l.groups != spec.groups;
  const auto image = problem.multiplies_bf16 ? bf16 : f32;
  l.input =
      image({problem.samples, l.channels, in.height, in.width}, image_tag(in, l.channels, l.block));
  l.output = image({problem.samples, l.outputs, out.height, out.width},
                   image_tag(out, l.outputs, l.block));
  l.bias = f32({l.outputs}, Tag::a);
  l.multiplies_bf16 = problem.multiplies_bf16;
  set_weights(l, spec);
  return l;
}

bool has_few_channels(const Conv2d& spec, const Problem& problem) {
  return has_avx512() && kind_of(spec, problem) == Kind::Blocked && spec.groups == 1 &&
         problem.inputs[0].channels <= kFewChannels && spec.stride == Pair{1, 1} &&
         spec.padding == Pair{0, 0};
}

// oneDNN multiplies bf16 with any AVX-512, our own loops only with the instruction for it.
bool has_small_images(const Conv2d& spec, const Problem& problem) {
  if (kind_of(spec, problem) != Kind::Blocked || spec.groups != 1) return false;
  const std::int64_t pixels = problem.output.pixels();
  return problem.multiplies_bf16
             ? instruction_set() == InstructionSet::Avx512Bf16 && pixels <= kSmallImagePixelsBf16
             : has_avx512() && pixels <= kSmallImagePixels;
}

// oneDNN's bf16 kernels for plain images and for groups of few channels are slower than its f32
// ones.
bool has_bf16_products(const Conv2d& spec, const Problem& problem) {
  return kind_of(spec, problem) == Kind::Blocked && spec.groups == 1 &&
         !has_few_channels(spec, problem);
}

ParameterLayout parameter_layout(const Conv2d& spec, const Problem& problem, int parameter) {
  const ConvLayout l = conv_layout(spec, problem);
  if (parameter == 1) return channel_parameter(spec.out_channels, l.block);
  const std::int64_t taps = spec.kernel[0] * spec.kernel[1];
  const std::int64_t per_group = problem.inputs[0].channels / spec.groups,
                     outputs_per_group = spec.out_channels / spec.groups;
  const std::int64_t c_merged = l.channels / l.groups;  // blocks of outputs continue across groups
  const std::int64_t block = l.block;
  const Kind kind = l.kind;
  return {.elements = l.weight_elements, .position = [=](std::int64_t index) {
            const std::int64_t tap = index % taps, o = index / taps / per_group;
            const std::int64_t c = o / outputs_per_group * per_group + index / taps % per_group;
            if (kind == Kind::Plain)
              return ((o / block * taps + tap) * per_group + c) * block + o % block;
            if (kind == Kind::Depthwise) return (o / block * taps + tap) * block + o % block;
            const std::int64_t o_block = o / block, c_block = c % c_merged / block;
            return (((o_block * (c_merged / block) + c_block) * taps + tap) * block + c % block) *
                       block +
                   o % block;
          }};
}

std::size_t packed_bytes(const Conv2d& spec, const Problem& problem, Pass pass) {
  if (has_winograd(spec, problem)) return winograd_packed_bytes(spec, problem);
  const ConvLayout l = conv_layout(spec, problem);
  if (pass == Pass::Forward) return l.multiplies_bf16 ? l.read_weights.get_size() : 0;
  return l.kind == Kind::Blocked ? l.packed_weights.get_size() : 0;
}

namespace {

// Transposes weights that are in blocks of 16.
void transpose_blocks(const Conv2d& spec, const ConvLayout& l, const float* weights,
                      float* packed) {
  const std::int64_t taps = spec.kernel[0] * spec.kernel[1],
                     c_blocks = l.channels / l.groups / kLanes,
                     o_blocks = l.outputs / l.groups / kLanes;
  const bool pointwise = is_pointwise(spec);
  parallel_each(
      l.groups * o_blocks * c_blocks, kElementWork * l.weight_elements, [&](std::int64_t b) {
        const std::int64_t c = b % c_blocks, o = b / c_blocks % o_blocks,
                           g = b / c_blocks / o_blocks;
        const std::int64_t to = pointwise ? (g * c_blocks + c) * o_blocks + o : b;
        for (std::int64_t tap = 0; tap < taps; ++tap)
          vector_loops().f32.transpose_tile(weights + (b * taps + tap) * kWeightBlock, kLanes,
                                            kLanes, packed + (to * taps + tap) * kWeightBlock,
                                            kLanes, kLanes);
      });
}

}  // namespace

void pack(const Conv2d& spec, const Problem& problem, Pass pass, const float* weights,
          void* packed) {
  if (has_winograd(spec, problem))
    return winograd_pack(spec, problem, pass, weights, floats(packed));
  const ConvLayout l = conv_layout(spec, problem);
  if (!l.multiplies_bf16 && l.block == kLanes)
    return transpose_blocks(spec, l, weights, floats(packed));
  reorder(problem.layer->name, l.weights, weights,
          pass == Pass::Forward ? l.read_weights : l.packed_weights, packed);
}

}  // namespace pipetrain::cpu
