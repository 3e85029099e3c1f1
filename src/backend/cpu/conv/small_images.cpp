// A thread takes blocks of 16 outputs by 16 channels. The pixels of a block in all samples, which
// are far apart, are gathered first; the sums of a block run over samples and pixels in their
// order.
#include "backend/cpu/conv/small_images.hpp"

#include <algorithm>
#include <cstring>

#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::cpu {
namespace {

struct F32Products {
  using Stored = float;
  using Gathered = float;
  static constexpr std::int64_t kTogether = 1;  // samples
  static void gather(const float* samples, std::int64_t, std::int64_t, std::int64_t elements,
                     float* to) {
    std::memcpy(to, samples, bytes_of<float>(elements));
  }
  static void add(const SmallImagesLoop& loop, const float* x, const float* dy, float* weights) {
    vector_loops().small_images_weight(loop, x, dy, weights);
  }
};

// The same pixel of two samples as a pair: one instruction adds both products.
struct Bf16Products {
  using Stored = Bf16;
  using Gathered = Bf16Pair;
  static constexpr std::int64_t kTogether = 2;
  static void gather(const Bf16* samples, std::int64_t count, std::int64_t stride,
                     std::int64_t elements, Bf16Pair* to) {
    bf16_product_loops().pair_up(samples, count > 1 ? samples + stride : nullptr, to, elements);
  }
  static void add(const SmallImagesLoop& loop, const Bf16Pair* x, const Bf16Pair* dy,
                  float* weights) {
    bf16_product_loops().small_images_weight(loop, x, dy, weights);
  }
};

std::int64_t gathered_elements(const Problem& problem, const ValueLayout& image) {
  const std::int64_t together =
      problem.multiplies_bf16 ? Bf16Products::kTogether : F32Products::kTogether;
  return (problem.samples + together - 1) / together * image.pixels() * kLanes;
}

template <class Products>
class WeightGradient {
 public:
  using Stored = typename Products::Stored;
  using Gathered = typename Products::Gathered;

  WeightGradient(const Conv2d& spec, const Problem& problem, const BackwardWeightArguments& a)
      : problem_(problem),
        a_(a),
        bias_(spec.bias),
        taps_(spec.kernel[0] * spec.kernel[1]),
        loop_{.samples = (problem.samples + Products::kTogether - 1) / Products::kTogether,
              .in_height = in().height,
              .in_width = in().width,
              .out_height = out().height,
              .out_width = out().width,
              .kernel = spec.kernel,
              .stride = spec.stride,
              .padding = spec.padding,
              .accumulate = a.accumulate} {}

  void compute(int threads) const {
    const std::int64_t blocks = blocks_of(out()) * blocks_of(in()),
                       work = problem_.output_elements() * in().stored_channels() * taps_;
    parallel_ranges_with(
        blocks, work, threads, [&](int thread) { return memory_of(thread); },
        [&](Memory& memory, std::int64_t begin, std::int64_t end) {
          for (std::int64_t b = begin; b < end; ++b) add_block(memory, b);
        });
  }

 private:
  struct Memory {  // each thread has its own
    Gathered *x, *dy;
    std::int64_t in_block = -1, out_block = -1;
  };

  const ValueLayout& in() const { return problem_.inputs[0]; }
  const ValueLayout& out() const { return problem_.output; }
  static std::int64_t blocks_of(const ValueLayout& image) {
    return image.stored_channels() / kLanes;
  }

  Memory memory_of(int thread) const {
    const std::int64_t x = gathered_elements(problem_, in()),
                       dy = gathered_elements(problem_, out());
    Gathered* const memory = static_cast<Gathered*>(a_.scratch) + thread * (x + dy);
    return {.x = memory, .dy = memory + x};
  }

  void add_block(Memory& memory, std::int64_t block) const {
    const std::int64_t out_block = block / blocks_of(in()), in_block = block % blocks_of(in());
    if (memory.out_block != out_block) gather(out(), a_.output_gradient, out_block, memory.dy);
    if (memory.in_block != in_block) gather(in(), a_.inputs[0], in_block, memory.x);
    memory.in_block = in_block;
    memory.out_block = out_block;
    Products::add(loop_, memory.x, memory.dy,
                  floats(a_.gradients[0]) + block * taps_ * kWeightBlock);
    if (bias_ && in_block == 0) add_bias(out_block);
  }

  void gather(const ValueLayout& image, const void* value, std::int64_t block, Gathered* to) const {
    const std::int64_t elements = image.pixels() * kLanes, stride = image.stored_elements();
    const Stored* from = static_cast<const Stored*>(value) + block * elements;
    for (std::int64_t n = 0; n < problem_.samples; n += Products::kTogether, to += elements)
      Products::gather(from + n * stride, problem_.samples - n, stride, elements, to);
  }

  void add_bias(std::int64_t block) const {
    float* const bias = floats(a_.gradients[1]) + block * kLanes;
    if (!a_.accumulate) std::fill_n(bias, kLanes, 0.0f);
    const Stored* dy =
        static_cast<const Stored*>(a_.output_gradient) + block * out().pixels() * kLanes;
    for (std::int64_t n = 0; n < problem_.samples; ++n, dy += out().stored_elements())
      element_loops<Stored>().add_rows(dy, out().pixels(), kLanes, kLanes, bias);
  }

  const Problem& problem_;
  const BackwardWeightArguments& a_;
  bool bias_;
  std::int64_t taps_;
  SmallImagesLoop loop_;
};

}  // namespace

std::size_t small_images_scratch_bytes(const Problem& problem, int threads) {
  static_assert(sizeof(Bf16Pair) == sizeof(float));
  const std::int64_t elements =
      gathered_elements(problem, problem.inputs[0]) + gathered_elements(problem, problem.output);
  return bytes_of<float>(threads * elements);
}

void small_images_backward_weight(const Conv2d& spec, const Problem& problem,
                                  const BackwardWeightArguments& a, int threads) {
  if (problem.multiplies_bf16)
    WeightGradient<Bf16Products>(spec, problem, a).compute(threads);
  else
    WeightGradient<F32Products>(spec, problem, a).compute(threads);
}

}  // namespace pipetrain::cpu
