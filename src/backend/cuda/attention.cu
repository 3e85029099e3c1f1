// A block makes kTile rows of a result: of y and dq at queries, of dk and dv at keys. It goes over
// the other side's rows tile by tile, in order, and makes for each the tile of scores that joins
// the two. Nothing is added up by two blocks, so every sum has one order.
//
//            keys 0..63   64..127
//   queries  +----------+----------+
//    0..63   | s p dp ds| causal:  |
//            +----------+ nothing  |
//   64..127  |          |          |
//
// With p = softmax(s) and dp = dy v^T:  ds = p (dp - dy . y) / sqrt(width),
// dq = ds k, dk = ds^T q, dv = p^T dy. Masked scores are -infinity, so that their p is 0.
#include "backend/cuda/attention.hpp"

#include "backend/cuda/attention_tiles.hpp"
#include "backend/cuda/device_code.hpp"

namespace pipetrain::cuda {
namespace {

constexpr int kShares = kBlock / kTile;  // threads that share a row's softmax

// What a block makes: a tile's rows of a head of a sample, and there kColumns columns.
struct Item {
  std::int64_t sample, head, row, column;
};

__host__ __device__ std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

__host__ __device__ std::int64_t items(const AttentionSizes& of) {
  return of.samples * of.heads * divided_up(of.length, kTile) * divided_up(of.width, kColumns);
}

__device__ Item item_of(const AttentionSizes& of, std::int64_t number) {
  const std::int64_t tiles = divided_up(of.length, kTile), parts = divided_up(of.width, kColumns);
  const std::int64_t head = number / parts / tiles;
  return {head / of.heads, head % of.heads, number / parts % tiles * kTile,
          number % parts * kColumns};
}

__device__ int rows_from(const AttentionSizes& of, std::int64_t row) {
  const std::int64_t left = of.length - row;
  return static_cast<int>(left < kTile ? left : kTile);
}

// Rows of a matrix [samples, length, `blocks` blocks of all heads], in one of its blocks.
__device__ std::int64_t offset(const AttentionSizes& of, const Item& at, std::int64_t row,
                               int blocks, int block) {
  return ((at.sample * of.length + row) * blocks + block) * of.columns() + at.head * of.width;
}
__device__ HeadRows rows_of_qkv(const AttentionSizes& of, const float* qkv, const Item& at,
                                std::int64_t row, int block) {
  return {qkv + offset(of, at, row, 3, block), 3 * of.columns(), rows_from(of, row)};
}
__device__ HeadRows rows_of_y(const AttentionSizes& of, const float* y, const Item& at,
                              std::int64_t row) {
  return {y + offset(of, at, row, 1, 0), of.columns(), rows_from(of, row)};
}
enum Block { kQueries, kKeys, kValues };

// The place of a row among softmax rows.
__device__ std::int64_t place(const AttentionSizes& of, const Item& at, std::int64_t row) {
  return (at.sample * of.length + row) * of.heads + at.head;
}

// Whether a query sees a key. Rows past the end are neither.
__device__ bool sees(const AttentionSizes& of, std::int64_t query, std::int64_t key) {
  return query < of.length && key < of.length && !(of.causal && key > query);
}

__device__ float scale_of(const AttentionSizes& of) {
  return static_cast<float>(1 / sqrt(static_cast<double>(of.width)));
}

// The softmax of rows whose tiles come one after the other (Milakov and Gimelshein, 2018), in
// shared memory. kShares threads share a row.
struct RunningSoftmax {
  float *largest, *sum;  // [kTile], of what has come
  float* shrinks;        // [kTile]: what earlier values are multiplied by, now that largest is more
  float* partial;        // [kShares][kTile]
};

__device__ void begin(const RunningSoftmax& rows) {
  if (threadIdx.x >= kTile) return;
  rows.largest[threadIdx.x] = -HUGE_VALF;
  rows.sum[threadIdx.x] = 0;
}

// Scores in `tile` become exp(score - largest). A NaN among them makes the row's sum one.
__device__ void take_tile(const RunningSoftmax& rows, float* tile) {
  constexpr int each = kTile / kShares;
  const unsigned row = threadIdx.x % kTile, share = threadIdx.x / kTile;
  float* const mine = tile + row * kTilePitch + share * each;
  float largest = -HUGE_VALF, sum = 0;
  for (int i = 0; i < each; ++i) largest = largest < mine[i] ? mine[i] : largest;
  rows.partial[share * kTile + row] = largest;
  __syncthreads();
  const float before = rows.largest[row];
  largest = before;
  for (int other = 0; other < kShares; ++other) {
    const float of_other = rows.partial[other * kTile + row];
    largest = largest < of_other ? of_other : largest;
  }
  for (int i = 0; i < each; ++i) {
    mine[i] = expf(mine[i] - largest);
    sum += mine[i];
  }
  __syncthreads();
  rows.partial[share * kTile + row] = sum;
  if (share == 0) {
    rows.largest[row] = largest;
    rows.shrinks[row] = expf(before - largest);
  }
  __syncthreads();
  if (share != 0) return;
  sum = rows.sum[row] * rows.shrinks[row];
  for (int other = 0; other < kShares; ++other) sum += rows.partial[other * kTile + row];
  rows.sum[row] = sum;
}

__global__ void attention_kernel(AttentionSizes of, const float* qkv, SoftmaxRow* softmax,
                                 float* y) {
  __shared__ float a[kTile * kPitch], b[kTile * kPitch], tile[kTile * kTilePitch];
  __shared__ float largest[kTile], sum[kTile], shrinks[kTile], partial[kBlock];
  const RunningSoftmax rows{largest, sum, shrinks, partial};
  const float scale = scale_of(of);
  for (std::int64_t number = blockIdx.x; number < items(of); number += gridDim.x) {
    const Item at = item_of(of, number);
    const HeadRows queries = rows_of_qkv(of, qkv, at, at.row, kQueries);
    const std::int64_t keys = of.causal ? at.row + queries.count : of.length;
    Result result{};
    begin(rows);
    for (std::int64_t key = 0; key < keys; key += kTile) {
      const TileValues scores =
          dot_rows(queries, rows_of_qkv(of, qkv, at, key, kKeys), of.width, {a, b});
      visit_tile([&](int i, int j, int row, int column) {
        const bool there = sees(of, at.row + row, key + column);
        tile[row * kTilePitch + column] = there ? scale * scores.of[i][j] : -HUGE_VALF;
      });
      __syncthreads();
      take_tile(rows, tile);
      visit_result(result, kTile, 0, kColumns,
                   [&](float& value, int i, std::int64_t) { value *= shrinks[i]; });
      add_product(result, tile, rows_of_qkv(of, qkv, at, key, kValues), at.column, of.width, b);
    }
    visit_result(result, kTile, 0, kColumns,
                 [&](float& value, int i, std::int64_t) { value /= sum[i]; });
    store(result, rows_of_y(of, y, at, at.row), y + offset(of, at, at.row, 1, 0), at.column,
          of.width);
    const auto row = static_cast<int>(threadIdx.x);
    if (softmax && at.column == 0 && row < queries.count)
      softmax[place(of, at, at.row + row)] = {largest[row], 1 / sum[row]};
    __syncthreads();
  }
}

// products[row] = dy . y. A line of a block takes a row.
__global__ void products_kernel(AttentionBackward in) {
  __shared__ double shared[kBlock];
  visit_rows(in.of.rows(), [&](std::int64_t row) {
    double sum = 0;
    if (row < in.of.rows())
      visit_row(row, in.of.width,
                [&](std::int64_t i, std::int64_t) { sum += double{in.dy[i]} * in.y[i]; });
    sum = sum_line(sum, shared);
    if (row < in.of.rows() && lane_of_block() == 0) in.products[row] = static_cast<float>(sum);
  });
}

// What the backward wants to know of a query.
struct Query {
  SoftmaxRow softmax;
  float product;
};
__device__ Query query_at(const AttentionBackward& in, const Item& at, std::int64_t row) {
  if (row >= in.of.length) return {{0, 0}, 0};
  const std::int64_t i = place(in.of, at, row);
  return {in.softmax[i], in.products[i]};
}

__device__ float weight_of(const Query& query, float score) {  // p; the score by the scale
  return expf(score - query.softmax.largest) * query.softmax.factor;
}

// A block's queries beside all keys that they see.
__global__ void query_gradient_kernel(AttentionBackward in, float* dqkv) {
  __shared__ float a[kTile * kPitch], b[kTile * kPitch], tile[kTile * kTilePitch];
  const AttentionSizes& of = in.of;
  const float scale = scale_of(of);
  for (std::int64_t number = blockIdx.x; number < items(of); number += gridDim.x) {
    const Item at = item_of(of, number);
    const HeadRows queries = rows_of_qkv(of, in.qkv, at, at.row, kQueries),
                   dy = rows_of_y(of, in.dy, at, at.row);
    const std::int64_t end = of.causal ? at.row + queries.count : of.length;
    Query known[kEach];
    visit_tile([&](int i, int, int row, int) { known[i] = query_at(in, at, at.row + row); });
    Result dq{};
    for (std::int64_t key = 0; key < end; key += kTile) {
      const HeadRows keys = rows_of_qkv(of, in.qkv, at, key, kKeys),
                     values = rows_of_qkv(of, in.qkv, at, key, kValues);
      const TileValues scores = dot_rows(queries, keys, of.width, {a, b}),
                       dp = dot_rows(dy, values, of.width, {a, b});
      visit_tile([&](int i, int j, int row, int column) {
        const float p = weight_of(known[i], scale * scores.of[i][j]),
                    ds = scale * p * (dp.of[i][j] - known[i].product);
        tile[row * kTilePitch + column] = sees(of, at.row + row, key + column) ? ds : 0;
      });
      add_product(dq, tile, keys, at.column, of.width, b);
    }
    store(dq, queries, dqkv + offset(of, at, at.row, 3, kQueries), at.column, of.width);
  }
}

// A block's keys beside all queries that see them: the tiles are transposed.
__global__ void key_gradient_kernel(AttentionBackward in, float* dqkv) {
  __shared__ float a[kTile * kPitch], b[kTile * kPitch], tile[kTile * kTilePitch];
  const AttentionSizes& of = in.of;
  const float scale = scale_of(of);
  for (std::int64_t number = blockIdx.x; number < items(of); number += gridDim.x) {
    const Item at = item_of(of, number);
    const HeadRows keys = rows_of_qkv(of, in.qkv, at, at.row, kKeys),
                   values = rows_of_qkv(of, in.qkv, at, at.row, kValues);
    Result dk{}, dv{};
    for (std::int64_t query = of.causal ? at.row : 0; query < of.length; query += kTile) {
      const HeadRows queries = rows_of_qkv(of, in.qkv, at, query, kQueries),
                     dy = rows_of_y(of, in.dy, at, query);
      TileValues scores = dot_rows(keys, queries, of.width, {a, b}),
                 dp = dot_rows(values, dy, of.width, {a, b});
      Query known[kEach];
      visit_tile([&](int, int j, int, int column) { known[j] = query_at(in, at, query + column); });
      visit_tile([&](int i, int j, int row, int column) {
        const bool seen = sees(of, query + column, at.row + row);
        const float p = seen ? weight_of(known[j], scale * scores.of[i][j]) : 0;
        tile[row * kTilePitch + column] = p;
        dp.of[i][j] = seen ? scale * p * (dp.of[i][j] - known[j].product) : 0;  // now ds
      });
      add_product(dv, tile, dy, at.column, of.width, b);
      visit_tile([&](int i, int j, int row, int column) {
        tile[row * kTilePitch + column] = dp.of[i][j];
      });
      add_product(dk, tile, queries, at.column, of.width, b);
    }
    store(dk, keys, dqkv + offset(of, at, at.row, 3, kKeys), at.column, of.width);
    store(dv, values, dqkv + offset(of, at, at.row, 3, kValues), at.column, of.width);
  }
}

}  // namespace

void attention(cudaStream_t stream, const AttentionSizes& of, const float* qkv, SoftmaxRow* softmax,
               float* y) {
  launch(attention_kernel, std::min(items(of), kGrid), kBlock, stream, of, qkv, softmax, y);
}

void attention_backward(cudaStream_t stream, const AttentionBackward& in, float* dqkv) {
  launch(products_kernel, blocks_for_rows(in.of.rows()), kBlock, stream, in);
  launch(query_gradient_kernel, std::min(items(in.of), kGrid), kBlock, stream, in, dqkv);
  launch(key_gradient_kernel, std::min(items(in.of), kGrid), kBlock, stream, in, dqkv);
}

}  // namespace pipetrain::cuda
