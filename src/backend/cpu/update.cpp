// sgd: Sutskever et al. 2013 in PyTorch's form (the rate multiplies the velocity, no dampening).
// adam: Kingma and Ba 2015, Algorithm 1, weight decay as L2 in the gradient.
// adamw: Loshchilov and Hutter 2019, Algorithm 2, weight decay apart from the gradient.
// One pass in f32 over everything (vector_loops.inl), split over the team where it is long.
#include "backend/cpu/update.hpp"

#include <algorithm>

#include "backend/cpu/parallel.hpp"
#include "backend/cpu/vector_loops.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kParts = 64;  // of a sum: as many for any number of threads, so one result

}  // namespace

void update(const UpdateRule& rule, const UpdateArguments& arguments) {
  const VectorLoops& loops = vector_loops();
  parallel_ranges(
      arguments.elements, arguments.elements,
      [&](std::int64_t begin, std::int64_t end) { loops.update(rule, arguments, begin, end); });
}

double sum_of_squares(const float* values, std::int64_t elements) {
  const VectorLoops& loops = vector_loops();
  double sums[kParts] = {};
  const std::int64_t length = (elements + kParts - 1) / kParts;
  parallel_each(kParts, elements, [&](std::int64_t part) {
    const std::int64_t begin = std::min(part * length, elements);
    sums[part] = loops.sum_of_squares(values + begin, std::min(length, elements - begin));
  });
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

}  // namespace pipetrain::cpu
