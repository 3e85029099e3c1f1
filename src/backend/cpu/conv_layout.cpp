#include "backend/cpu/conv_layout.hpp"

#include "backend/cpu/parallel.hpp"
#include "backend/cpu/vector_loops.hpp"

namespace pipetrain::cpu {
namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Kind = ConvLayout::Kind;

constexpr std::int64_t kBlock = kLanes * kLanes;

Desc f32(const dnnl::memory::dims& dims, Tag tag) {
  return {dims, dnnl::memory::data_type::f32, tag};
}

Kind kind_of(const Conv2d& spec, const Problem& problem) {
  const std::int64_t channels = problem.inputs[0].channels;
  if (!problem.inputs[0].blocked) return Kind::Plain;
  if (spec.groups > 1 && spec.groups == channels && spec.out_channels == channels)
    return Kind::Depthwise;
  return Kind::Blocked;
}

// The most groups of whole blocks that the layer's groups can be merged to.
std::int64_t merged_groups(const Conv2d& spec, std::int64_t channels) {
  for (std::int64_t groups = spec.groups; groups > 1; --groups)
    if (spec.groups % groups == 0 && channels / groups % kLanes == 0 &&
        spec.out_channels / groups % kLanes == 0)
      return groups;
  return 1;
}

// The library's pointwise kernels want the blocks of their input gradient's weights the other way.
bool is_pointwise(const Conv2d& spec) {
  return spec.kernel == Pair{1, 1} && spec.padding == Pair{0, 0};
}

void set_weights(ConvLayout& l, const Conv2d& spec) {
  const auto [height, width] = spec.kernel;
  const bool pointwise = is_pointwise(spec);
  if (l.kind == Kind::Plain) {
    l.weights = f32({l.outputs, l.channels, height, width}, Tag::Ohwi16o);
  } else if (l.kind == Kind::Depthwise) {
    l.weights = f32({l.channels, 1, 1, height, width}, Tag::Goihw16g);
  } else if (l.groups > 1) {
    const dnnl::memory::dims dims{l.groups, l.outputs / l.groups, l.channels / l.groups, height,
                                  width};
    l.weights = f32(dims, Tag::gOIhw16i16o);
    l.packed_weights = f32(dims, pointwise ? Tag::gIOhw16o16i : Tag::gOIhw16o16i);
  } else {
    const dnnl::memory::dims dims{l.outputs, l.channels, height, width};
    l.weights = f32(dims, Tag::OIhw16i16o);
    l.packed_weights = f32(dims, pointwise ? Tag::IOhw16o16i : Tag::OIhw16o16i);
  }
  if (l.kind != Kind::Blocked) l.packed_weights = l.weights;
  l.weight_elements = static_cast<std::int64_t>(l.weights.get_size() / sizeof(float));
}

}  // namespace

ConvLayout conv_layout(const Conv2d& spec, const Problem& problem) {
  const ValueLayout &in = problem.inputs[0], &out = problem.output;
  ConvLayout l;
  l.kind = kind_of(spec, problem);
  l.channels = in.stored_channels();
  l.outputs = out.stored_channels();
  if (l.kind == Kind::Blocked) l.groups = merged_groups(spec, in.channels);
  l.merged = l.kind == Kind::Blocked && l.groups != spec.groups;
  l.input = f32({problem.samples, l.channels, in.height, in.width},
                in.blocked ? Tag::nChw16c : Tag::nchw);
  l.output = f32({problem.samples, l.outputs, out.height, out.width}, Tag::nChw16c);
  l.bias = f32({l.outputs}, Tag::a);
  set_weights(l, spec);
  return l;
}

ParameterLayout parameter_layout(const Conv2d& spec, const Problem& problem, int parameter) {
  if (parameter == 1) return channel_parameter(spec.out_channels, kLanes);
  const ConvLayout l = conv_layout(spec, problem);
  const std::int64_t taps = spec.kernel[0] * spec.kernel[1];
  const std::int64_t per_group = problem.inputs[0].channels / spec.groups,
                     outputs_per_group = spec.out_channels / spec.groups;
  const std::int64_t c_merged = l.channels / l.groups;  // blocks of outputs run on over groups
  const Kind kind = l.kind;
  return {
      .elements = l.weight_elements, .position = [=](std::int64_t index) {
        const std::int64_t tap = index % taps, o = index / taps / per_group;
        const std::int64_t c = o / outputs_per_group * per_group + index / taps % per_group;
        if (kind == Kind::Plain)
          return ((o / kLanes * taps + tap) * per_group + c) * kLanes + o % kLanes;
        if (kind == Kind::Depthwise) return (o / kLanes * taps + tap) * kLanes + o % kLanes;
        const std::int64_t o_block = o / kLanes, c_block = c % c_merged / kLanes;
        return (((o_block * (c_merged / kLanes) + c_block) * taps + tap) * kLanes + c % kLanes) *
                   kLanes +
               o % kLanes;
      }};
}

std::size_t packed_bytes(const Conv2d& spec, const Problem& problem) {
  const ConvLayout l = conv_layout(spec, problem);
  return l.kind == Kind::Blocked ? l.packed_weights.get_size() : 0;
}

void pack(const Conv2d& spec, const Problem& problem, const float* weights, float* packed) {
  const ConvLayout l = conv_layout(spec, problem);
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
          vector_loops().f32.transpose_tile(weights + (b * taps + tap) * kBlock, kLanes, kLanes,
                                            packed + (to * taps + tap) * kBlock, kLanes, kLanes);
      });
}

}  // namespace pipetrain::cpu
