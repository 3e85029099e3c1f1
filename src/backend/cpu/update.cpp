// sgd: Sutskever et al. 2013 in PyTorch's form (the rate multiplies the velocity, no dampening).
// adam: Kingma and Ba 2015, Algorithm 1, weight decay as L2 in the gradient.
// adamw: Loshchilov and Hutter 2019, Algorithm 2, weight decay separate from the gradient.
// One pass in f32 over everything (vector_loops.inl), split over the team if it is long. The sum of
// squares of the gradient is taken on the way, while a chunk of it is in the cache.
#include "backend/cpu/update.hpp"

#include <algorithm>

#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kParts = 64;     // of a sum, for any number of threads: so one result
constexpr std::int64_t kPartMin = 256;  // elements
constexpr std::int64_t kChunk = 2048;   // elements that fit into the nearest cache

// Calls body(begin, end), which returns a sum, for every chunk; adds the sums up in a fixed order.
template <class Body>
double sum_chunks(std::int64_t elements, Body body) {
  double sums[kParts] = {};
  const std::int64_t length = std::max((elements + kParts - 1) / kParts, kPartMin);
  parallel_each(kParts, kElementWork * elements, [&](std::int64_t part) {
    const std::int64_t part_end = std::min((part + 1) * length, elements);
    for (std::int64_t begin = part * length; begin < part_end; begin += kChunk)
      sums[part] += body(begin, std::min(begin + kChunk, part_end));
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace

void update(const UpdateRule& rule, const UpdateArguments& a) {
  const VectorLoops& loops = vector_loops();
  if (a.sum_of_squares)
    *a.sum_of_squares = sum_chunks(a.elements, [&](std::int64_t begin, std::int64_t end) {
      const double sum = loops.sum_of_squares(a.gradient + begin, end - begin);
      loops.update(rule, a, begin, end);
      return sum;
    });
  else
    parallel_ranges(
        a.elements, kElementWork * a.elements,
        [&](std::int64_t begin, std::int64_t end) { loops.update(rule, a, begin, end); });
}

void combine(const Combination& c) {
  parallel_ranges(c.elements, kElementWork * c.elements, [&](std::int64_t begin, std::int64_t end) {
    vector_loops().combine(c, begin, end);
  });
}

void add_up(const Summation& s) {
  const auto terms = static_cast<std::int64_t>(s.parts.size());
  parallel_ranges(s.elements, kElementWork * s.elements * terms,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; i += kChunk)
                      vector_loops().add_up(s, i, std::min(i + kChunk, end));
                  });
}

double sum_of_squares(const float* values, std::int64_t elements) {
  return sum_chunks(elements, [&](std::int64_t begin, std::int64_t end) {
    return vector_loops().sum_of_squares(values + begin, end - begin);
  });
}

}  // namespace pipetrain::cpu
