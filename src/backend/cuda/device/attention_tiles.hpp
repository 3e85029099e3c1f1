// Device code for attention.cu: products of tiles, whose values are in the threads' registers. All
// threads of a block must call these functions together.
//
// The threads form a square of side kSide: thread (y, x) has rows y, y + 16, .. and columns x, x +
// 16, .. of a tile of kTile rows and columns, and of each kDepth columns of a result.
#pragma once

#include <cstdint>

#include "backend/cuda/device/launch.hpp"

namespace pipetrain::cuda {

inline constexpr int kTile = 64;
inline constexpr int kDepth = 32;                 // columns of operands in shared memory at a time
inline constexpr int kSide = 16;                  // of the square of threads
inline constexpr int kEach = kTile / kSide;       // rows, or columns, of a tile per thread
inline constexpr int kWide = kDepth / kSide;      // columns of a result's part per thread
inline constexpr int kParts = 4;                  // of a result: kDepth columns each
inline constexpr int kColumns = kParts * kDepth;  // of a result, made by a block at a time
inline constexpr int kPitch = kDepth + 1,
                     kTilePitch = kTile + 1;  // one more: spreads a column over banks
static_assert(kSide * kSide == kBlock);

// Some rows of a head, at most kTile; `first` points to the head's first column. Hidden rows are
// read as zeros, so that not even their NaNs spread.
struct HeadRows {
  const float* first;
  std::int64_t stride;
  int count;
  const bool* hidden = nullptr;  // [kTile], in shared memory; null: no row is hidden
};

// to[kTile][kPitch] = this many columns of the rows, at most kDepth; zeros elsewhere.
__device__ inline void load(const HeadRows& rows, std::int64_t column, std::int64_t columns,
                            float* to) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += kBlock) {
    const int row = i / kDepth, of_row = i % kDepth;
    const bool here = row < rows.count && of_row < columns && !(rows.hidden && rows.hidden[row]);
    to[row * kPitch + of_row] = here ? rows.first[row * rows.stride + column + of_row] : 0;
  }
}

__device__ inline int up_to(std::int64_t columns, int most) {
  return static_cast<int>(columns < most ? columns : most);
}

struct Operands {  // of a product, in shared memory
  float *a, *b;    // [kTile][kPitch]
};

// A thread's products of rows of a with rows of b.
struct TileValues {
  float of[kEach][kEach];
};
__device__ inline TileValues dot_rows(const HeadRows& a, const HeadRows& b, std::int64_t width,
                                      const Operands& shared) {
  const unsigned x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  TileValues sums{};
  for (std::int64_t column = 0; column < width; column += kDepth) {
    const int columns = up_to(width - column, kDepth);
    load(a, column, columns, shared.a);
    load(b, column, columns, shared.b);
    __syncthreads();
    for (int k = 0; k < columns; ++k) {
      float from_a[kEach], from_b[kEach];
      for (int i = 0; i < kEach; ++i) from_a[i] = shared.a[(y + i * kSide) * kPitch + k];
      for (int j = 0; j < kEach; ++j) from_b[j] = shared.b[(x + j * kSide) * kPitch + k];
      for (int i = 0; i < kEach; ++i)
        for (int j = 0; j < kEach; ++j) sums.of[i][j] += from_a[i] * from_b[j];
    }
    __syncthreads();
  }
  return sums;
}

// visit(i, j, row, column): the thread's value [i][j] is at (row, column) of the tile.
template <class Visit>
__device__ void visit_tile(Visit visit) {
  const int x = static_cast<int>(threadIdx.x % kSide), y = static_cast<int>(threadIdx.x / kSide);
  for (int i = 0; i < kEach; ++i)
    for (int j = 0; j < kEach; ++j) visit(i, j, y + i * kSide, x + j * kSide);
}

// A thread's values of kTile rows and kColumns columns.
struct ResultPart {
  float of[kEach][kWide];
};
struct Result {
  ResultPart parts[kParts];
};

__device__ inline void add_part(ResultPart& to, const float* tile, const HeadRows& b,
                                std::int64_t column, std::int64_t columns, float* shared) {
  const unsigned x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  load(b, column, columns, shared);
  __syncthreads();
  for (int k = 0; k < b.count; ++k) {
    float from_tile[kEach], from_b[kWide];
    for (int i = 0; i < kEach; ++i) from_tile[i] = tile[(y + i * kSide) * kTilePitch + k];
    for (int j = 0; j < kWide; ++j) from_b[j] = shared[k * kPitch + x + j * kSide];
    for (int i = 0; i < kEach; ++i)
      for (int j = 0; j < kWide; ++j) to.of[i][j] += from_tile[i] * from_b[j];
  }
  __syncthreads();
}

// Adds tile [kTile][kTilePitch] times this block's columns of b. Sees what was written to the tile
// before the call; the tile may be overwritten after it.
__device__ inline void add_product(Result& to, const float* tile, const HeadRows& b,
                                   std::int64_t column, std::int64_t width, float* shared) {
  PIPETRAIN_UNROLL
  for (int part = 0; part < kParts; ++part) {
    const std::int64_t from = column + part * kDepth;
    if (from < width) add_part(to.parts[part], tile, b, from, width - from, shared);
  }
}

// visit(value, its row in the tile, its column in the head), for each value of the thread that is
// inside the result.
template <class Visit>
__device__ void visit_result(Result& result, int rows, std::int64_t column, std::int64_t width,
                             Visit visit) {
  const unsigned x = threadIdx.x % kSide, y = threadIdx.x / kSide;
  PIPETRAIN_UNROLL
  for (int part = 0; part < kParts; ++part)
    for (int i = 0; i < kEach; ++i)
      for (int j = 0; j < kWide; ++j) {
        const int row = static_cast<int>(y) + i * kSide;
        const std::int64_t c = column + part * kDepth + x + j * kSide;
        if (row < rows && c < width) visit(result.parts[part].of[i][j], row, c);
      }
}

__device__ inline void store(Result& result, const HeadRows& like, float* to, std::int64_t column,
                             std::int64_t width) {
  visit_result(result, like.count, column, width,
               [&](float value, int row, std::int64_t c) { to[row * like.stride + c] = value; });
}

}  // namespace pipetrain::cuda
