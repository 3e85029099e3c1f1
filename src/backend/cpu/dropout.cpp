// Zeroes elements with probability p and scales the others by 1 / (1 - p). The mask is drawn in
// plain order (backend/dropout_mask.hpp) and saved, one byte per element, in the value's stored
// order.
#include <algorithm>
#include <cstring>

#include "backend/cpu/identity.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "backend/dropout_mask.hpp"
#include "graph/layer.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kDrawn = 256;  // factors drawn at a time

template <class E>
class DropoutKernel final : public CpuKernel {
 public:
  DropoutKernel(Problem problem, const Dropout& spec)
      : CpuKernel(std::move(problem)),
        p_(spec.p),
        scale_(spec.p < 1 ? static_cast<float>(1 / (1 - spec.p)) : 0.0f) {
    traits_.saved_bytes = static_cast<std::size_t>(problem_.output_elements());
  }

  void forward(const ForwardArguments& a) override {
    draw(a.random, bytes(a.saved));
    apply(elements<E>(a.inputs[0]), bytes(a.saved), elements<E>(a.output));
  }
  void backward_input(const BackwardInputArguments& a) override {
    if (a.input_gradients[0])
      apply(elements<E>(a.output_gradient), bytes(a.saved), elements<E>(a.input_gradients[0]));
  }

 private:
  void draw(const RandomKey& key, std::uint8_t* kept) const {
    const DropoutMask mask(p_, problem_.layer->name, key);
    if (problem_.output.is_plain() && mask.parts().dropped_below >> 32 == 0)
      return draw_plain(mask, kept);
    const ValueLayout& layout = problem_.output;
    if (layout.stored_elements() != layout.elements()) std::memset(kept, 0, traits_.saved_bytes);
    parallel_each(problem_.samples, kElementWork * problem_.output_elements(), [&](std::int64_t n) {
      float factors[kDrawn];
      std::uint8_t* sample = kept + n * layout.stored_elements();
      for (std::int64_t first = 0; first < layout.elements(); first += kDrawn) {
        const std::int64_t count = std::min(kDrawn, layout.elements() - first);
        mask.factors(n * layout.elements() + first, count, factors);
        for (std::int64_t i = 0; i < count; ++i)
          sample[layout.position(first + i)] = factors[i] != 0;
      }
    });
  }

  // In the order of their numbers: whole blocks, then the rest of the last one.
  void draw_plain(const DropoutMask& mask, std::uint8_t* kept) const {
    const std::int64_t elements = problem_.output_elements(), blocks = elements / 4;
    const VectorLoops& loops = vector_loops();
    parallel_ranges(blocks, kElementWork * elements, [&](std::int64_t begin, std::int64_t end) {
      loops.keep_elements(mask.parts(), begin, end - begin, kept + 4 * begin);
    });
    float rest[4];
    mask.factors(4 * blocks, elements - 4 * blocks, rest);
    for (std::int64_t i = 4 * blocks; i < elements; ++i) kept[i] = rest[i - 4 * blocks] != 0;
  }

  void apply(const E* from, const std::uint8_t* kept, E* to) const {
    const std::int64_t elements = problem_.output_elements();
    parallel_ranges(elements, kElementWork * elements, [&](std::int64_t begin, std::int64_t end) {
      loops_.drop(from + begin, kept + begin, scale_, to + begin, end - begin);
    });
  }

  const ElementLoops<E>& loops_ = element_loops<E>();
  double p_;
  float scale_;
};

}  // namespace

std::unique_ptr<Kernel> make_kernel(const Dropout& spec, Problem problem) {
  if (problem.mode == Mode::Evaluate || spec.p == 0) return make_alias(std::move(problem));
  return make_by_element<DropoutKernel>(std::move(problem), spec);
}

}  // namespace pipetrain::cpu
