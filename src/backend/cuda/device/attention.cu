// A block makes kTile rows of a result: of y and dq for queries, of dk and dv for keys. It goes
// over the rows of the other side tile by tile, in order, and computes for each the tile of scores
// between the two. No two blocks add to the same sum, so every sum has one order.
//
//            keys 0..63   64..127
//   queries  +----------+----------+
//    0..63   | s p dp ds| causal:  |
//            +----------+ nothing  |
//   64..127  |          |          |
//
// With p = softmax(s) and dp = dy v^T:  ds = p (dp - dy . y) / sqrt(width), dq = ds k, dk = ds^T q,
// dv = p^T dy. Where a query does not see a key, p = ds = 0; tiles of nothing but padding are
// skipped.
#include "backend/cuda/device/attention.hpp"

#include "backend/cuda/device/attention_tiles.hpp"
#include "backend/cuda/device/device_code.hpp"

namespace pipetrain::cuda {
namespace {

constexpr int kShares = kBlock / kTile;  // threads that share a row's softmax

// What a block makes: the rows of a tile, of one head of one sample, and of these kColumns columns.
struct Item {
  std::int64_t sample, head, row, column;
};

__host__ __device__ std::int64_t divided_up(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// For this many rows per sample.
__host__ __device__ std::int64_t items(const AttentionSizes& of, std::int64_t rows) {
  return of.samples * of.heads * divided_up(rows, kTile) * divided_up(of.width, kColumns);
}

__device__ Item item_of(const AttentionSizes& of, std::int64_t rows, std::int64_t number) {
  const std::int64_t tiles = divided_up(rows, kTile), parts = divided_up(of.width, kColumns);
  const std::int64_t head = number / parts / tiles;
  return {head / of.heads, head % of.heads, number / parts % tiles * kTile,
          number % parts * kColumns};
}

__device__ int rows_from(std::int64_t row, std::int64_t rows) {
  const std::int64_t left = rows - row;
  return static_cast<int>(left < kTile ? left : kTile);
}

// Where a row of a head begins, with `rows` rows per sample, `stride` apart.
__device__ std::int64_t offset(const AttentionSizes& of, const Item& at, std::int64_t row,
                               std::int64_t rows, std::int64_t stride) {
  return (at.sample * rows + row) * stride + at.head * of.width;
}
__device__ HeadRows rows_of_queries(const AttentionSizes& of, const float* from,
                                    std::int64_t stride, const Item& at, std::int64_t row) {
  return {from + offset(of, at, row, of.queries, stride), stride, rows_from(row, of.queries)};
}
__device__ HeadRows rows_of_keys(const AttentionSizes& of, const float* from, std::int64_t stride,
                                 const Item& at, std::int64_t row, const bool* hidden) {
  return {from + offset(of, at, row, of.keys, stride), stride, rows_from(row, of.keys), hidden};
}

// The index of a row among the SoftmaxRows.
__device__ std::int64_t place(const AttentionSizes& of, const Item& at, std::int64_t row) {
  return (at.sample * of.queries + row) * of.heads + at.head;
}

// Called by all threads of a block: marks the keys of a tile that are padding. True if all are.
__device__ bool hide_padding(const AttentionSizes& of, const Item& at, std::int64_t key,
                             bool* hidden) {
  if (!of.tokens) return false;
  const std::int64_t row = key + threadIdx.x;
  if (threadIdx.x < kTile)
    hidden[threadIdx.x] = row >= of.keys || of.tokens[at.sample * of.keys + row] == of.padding;
  __syncthreads();
  bool all = true;
  for (int i = 0; i < kTile; ++i) all = all && hidden[i];
  __syncthreads();
  return all;
}

// Does a query see a key, padding aside? False for rows past the end.
__device__ bool sees(const AttentionSizes& of, std::int64_t query, std::int64_t key) {
  return query < of.queries && key < of.keys && !(of.causal && key > query);
}

__device__ float scale_of(const AttentionSizes& of) {
  return static_cast<float>(1 / sqrt(static_cast<double>(of.width)));
}

// The softmax of rows whose tiles come one after another (Milakov and Gimelshein, 2018), in shared
// memory. kShares threads share a row.
struct RunningSoftmax {
  float *largest, *sum;  // [kTile], of the tiles so far
  float* shrinks;        // [kTile]: factor for earlier values, now that `largest` has grown
  float* partial;        // [kShares][kTile]
};

__device__ void begin(const RunningSoftmax& rows) {
  if (threadIdx.x >= kTile) return;
  rows.largest[threadIdx.x] = -HUGE_VALF;
  rows.sum[threadIdx.x] = 0;
}

// Turns scores in `tile` into exp(score - largest), or 0 where they are -infinity. A NaN among them
// makes the row's sum NaN.
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
    mine[i] = mine[i] == -HUGE_VALF ? 0 : expf(mine[i] - largest);
    sum += mine[i];
  }
  __syncthreads();
  rows.partial[share * kTile + row] = sum;
  if (share == 0) {
    rows.largest[row] = largest;
    rows.shrinks[row] = before == largest ? 1 : expf(before - largest);
  }
  __syncthreads();
  if (share != 0) return;
  sum = rows.sum[row] * rows.shrinks[row];
  for (int other = 0; other < kShares; ++other) sum += rows.partial[other * kTile + row];
  rows.sum[row] = sum;
}

// If a row sees no key, the sum of its weights is 0; its values are then 0.
__device__ float factor_of(float sum) { return sum == 0 ? 0 : 1 / sum; }

__global__ void attention_kernel(AttentionSizes of, AttentionRows<const float> in,
                                 SoftmaxRow* softmax, float* y) {
  __shared__ float a[kTile * kPitch], b[kTile * kPitch], tile[kTile * kTilePitch];
  __shared__ float largest[kTile], sum[kTile], shrinks[kTile], partial[kBlock];
  __shared__ bool padding[kTile];
  const bool* const hidden = of.tokens ? padding : nullptr;
  const RunningSoftmax rows{largest, sum, shrinks, partial};
  const float scale = scale_of(of);
  for (std::int64_t number = blockIdx.x; number < items(of, of.queries); number += gridDim.x) {
    const Item at = item_of(of, of.queries, number);
    const HeadRows queries = rows_of_queries(of, in.queries, in.query_stride, at, at.row);
    const std::int64_t end = of.causal ? at.row + queries.count : of.keys;
    Result result{};
    begin(rows);
    __syncthreads();
    for (std::int64_t key = 0; key < end; key += kTile) {
      if (hide_padding(of, at, key, padding)) continue;
      const HeadRows keys = rows_of_keys(of, in.keys, in.key_stride, at, key, hidden);
      const TileValues scores = dot_rows(queries, keys, of.width, {a, b});
      visit_tile([&](int i, int j, int row, int column) {
        const bool there = sees(of, at.row + row, key + column) && !(hidden && hidden[column]);
        tile[row * kTilePitch + column] = there ? scale * scores.of[i][j] : -HUGE_VALF;
      });
      __syncthreads();
      take_tile(rows, tile);
      visit_result(result, kTile, 0, kColumns,
                   [&](float& value, int i, std::int64_t) { value *= shrinks[i]; });
      const HeadRows values = rows_of_keys(of, in.values, in.key_stride, at, key, hidden);
      add_product(result, tile, values, at.column, of.width, b);
    }
    visit_result(result, kTile, 0, kColumns, [&](float& value, int i, std::int64_t) {
      value = sum[i] == 0 ? 0 : value / sum[i];
    });
    const std::int64_t first = offset(of, at, at.row, of.queries, of.columns());
    store(result, {nullptr, of.columns(), queries.count}, y + first, at.column, of.width);
    const auto row = static_cast<int>(threadIdx.x);
    if (softmax && at.column == 0 && row < queries.count)
      softmax[place(of, at, at.row + row)] = {largest[row], factor_of(sum[row])};
    __syncthreads();
  }
}

// products[row] = dy . y. A line of a block takes one row.
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

// What the backward needs to know of a query.
struct Query {
  SoftmaxRow softmax;
  float product;
};
__device__ Query query_at(const AttentionBackward& in, const Item& at, std::int64_t row) {
  if (row >= in.of.queries) return {{0, 0}, 0};
  const std::int64_t i = place(in.of, at, row);
  return {in.softmax[i], in.products[i]};
}

__device__ float weight_of(const Query& query, float score) {  // p; `score` is already scaled
  return expf(score - query.softmax.largest) * query.softmax.factor;
}

// A block takes some queries, with all keys that they see.
__global__ void query_gradient_kernel(AttentionBackward from, AttentionRows<float> to) {
  __shared__ float a[kTile * kPitch], b[kTile * kPitch], tile[kTile * kTilePitch];
  __shared__ bool padding[kTile];
  const AttentionSizes& of = from.of;
  const AttentionRows<const float>& in = from.in;
  const bool* const hidden = of.tokens ? padding : nullptr;
  const float scale = scale_of(of);
  for (std::int64_t number = blockIdx.x; number < items(of, of.queries); number += gridDim.x) {
    const Item at = item_of(of, of.queries, number);
    const HeadRows queries = rows_of_queries(of, in.queries, in.query_stride, at, at.row),
                   dy = rows_of_queries(of, from.dy, of.columns(), at, at.row);
    const std::int64_t end = of.causal ? at.row + queries.count : of.keys;
    Query known[kEach];
    visit_tile([&](int i, int, int row, int) { known[i] = query_at(from, at, at.row + row); });
    Result dq{};
    for (std::int64_t key = 0; key < end; key += kTile) {
      if (hide_padding(of, at, key, padding)) continue;
      const HeadRows keys = rows_of_keys(of, in.keys, in.key_stride, at, key, hidden),
                     values = rows_of_keys(of, in.values, in.key_stride, at, key, hidden);
      const TileValues scores = dot_rows(queries, keys, of.width, {a, b}),
                       dp = dot_rows(dy, values, of.width, {a, b});
      visit_tile([&](int i, int j, int row, int column) {
        const float p = weight_of(known[i], scale * scores.of[i][j]),
                    ds = scale * p * (dp.of[i][j] - known[i].product);
        const bool seen = sees(of, at.row + row, key + column) && !(hidden && hidden[column]);
        tile[row * kTilePitch + column] = seen ? ds : 0;
      });
      add_product(dq, tile, keys, at.column, of.width, b);
    }
    const std::int64_t first = offset(of, at, at.row, of.queries, to.query_stride);
    store(dq, {nullptr, to.query_stride, queries.count}, to.queries + first, at.column, of.width);
  }
}

// A block takes some keys, with all queries that see them: the tiles are transposed.
__global__ void key_gradient_kernel(AttentionBackward from, AttentionRows<float> to) {
  __shared__ float a[kTile * kPitch], b[kTile * kPitch], tile[kTile * kTilePitch];
  __shared__ bool padding[kTile];
  const AttentionSizes& of = from.of;
  const AttentionRows<const float>& in = from.in;
  const bool* const hidden = of.tokens ? padding : nullptr;
  const float scale = scale_of(of);
  for (std::int64_t number = blockIdx.x; number < items(of, of.keys); number += gridDim.x) {
    const Item at = item_of(of, of.keys, number);
    const HeadRows keys = rows_of_keys(of, in.keys, in.key_stride, at, at.row, hidden),
                   values = rows_of_keys(of, in.values, in.key_stride, at, at.row, hidden);
    Result dk{}, dv{};
    const bool unseen = hide_padding(of, at, at.row, padding);
    const std::int64_t end = unseen ? 0 : of.queries;
    for (std::int64_t query = of.causal ? at.row : 0; query < end; query += kTile) {
      const HeadRows queries = rows_of_queries(of, in.queries, in.query_stride, at, query),
                     dy = rows_of_queries(of, from.dy, of.columns(), at, query);
      TileValues scores = dot_rows(keys, queries, of.width, {a, b}),
                 dp = dot_rows(values, dy, of.width, {a, b});
      Query known[kEach];
      visit_tile(
          [&](int, int j, int, int column) { known[j] = query_at(from, at, query + column); });
      visit_tile([&](int i, int j, int row, int column) {
        const bool seen = sees(of, query + column, at.row + row) && !(hidden && hidden[row]);
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
    const std::int64_t first = offset(of, at, at.row, of.keys, to.key_stride);
    const HeadRows like{nullptr, to.key_stride, keys.count};
    store(dk, like, to.keys + first, at.column, of.width);
    store(dv, like, to.values + first, at.column, of.width);
  }
}

}  // namespace

void attention(cudaStream_t stream, const AttentionSizes& of, const AttentionRows<const float>& in,
               SoftmaxRow* softmax, float* y) {
  launch(attention_kernel, std::min(items(of, of.queries), kGrid), kBlock, stream, of, in, softmax,
         y);
}

void attention_backward(cudaStream_t stream, const AttentionBackward& backward,
                        const AttentionRows<float>& gradients) {
  const AttentionSizes& of = backward.of;
  launch(products_kernel, blocks_for_rows(of.rows()), kBlock, stream, backward);
  if (gradients.queries)
    launch(query_gradient_kernel, std::min(items(of, of.queries), kGrid), kBlock, stream, backward,
           gradients);
  if (gradients.keys)
    launch(key_gradient_kernel, std::min(items(of, of.keys), kGrid), kBlock, stream, backward,
           gradients);
}

}  // namespace pipetrain::cuda
