#include "backend/cpu/linear/rows_weight.hpp"

#include <omp.h>

#include <algorithm>

#include "backend/cpu/layout.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"

namespace pipetrain::cpu {
namespace {

constexpr std::int64_t kFewRows = 512;     // beyond them, oneDNN is as fast or faster
constexpr std::int64_t kRowsAtOnce = 128;  // a panel of them takes 16 KiB of the nearest cache

}  // namespace

RowsWeight::RowsWeight(const std::string& layer, std::int64_t rows, std::int64_t height,
                       std::int64_t width)
    : rows_(rows),
      height_(height),
      width_(width),
      threads_(omp_get_max_threads()),
      uses_loop_(rows <= kFewRows && vector_loops().rows_weight) {
  if (uses_loop_) return;
  const Matrix left{height, rows, true}, right{rows, width};
  make_ = MatrixProduct(layer, left, right, Element::F32);
  add_ = MatrixProduct(layer, left, right, Element::F32, {.accumulates = true});
}

std::size_t RowsWeight::scratch_bytes() const {
  if (uses_loop_) return bytes_of<float>(threads_ * std::min(rows_, kRowsAtOnce) * kPanel);
  return std::max(make_.scratch_bytes(), add_.scratch_bytes());
}

void RowsWeight::operator()(const std::string& layer, const void* left, const void* right,
                            void* sums, bool accumulate, void* scratch) {
  if (uses_loop_)
    by_loop(static_cast<const float*>(left), static_cast<const float*>(right),
            static_cast<float*>(sums), accumulate, static_cast<float*>(scratch));
  else
    (accumulate ? add_ : make_)(layer,
                                {.left = left, .right = right, .result = sums, .scratch = scratch});
}

void RowsWeight::by_loop(const float* left, const float* right, float* sums, bool accumulate,
                         float* scratch) const {
  for (std::int64_t first = 0; first < rows_; first += kRowsAtOnce) {
    const RowsWeightLoop loop{.left = left + first * height_,
                              .right = right + first * width_,
                              .sums = sums,
                              .rows = std::min(kRowsAtOnce, rows_ - first),
                              .height = height_,
                              .width = width_,
                              .accumulate = accumulate || first > 0};
    parallel_ranges_with(
        round_up(width_, kPanel) / kPanel * linear_tiles(height_), loop.rows * height_ * width_,
        threads_,
        [&](int thread) { return GatheredPanel{.rows = scratch + thread * loop.rows * kPanel}; },
        [&](GatheredPanel& panel, std::int64_t begin, std::int64_t end) {
          vector_loops().rows_weight(loop, panel, begin, end);
        });
  }
}

}  // namespace pipetrain::cpu
