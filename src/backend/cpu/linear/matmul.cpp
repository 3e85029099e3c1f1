// Where oneDNN 3.2 (brgemm_matmul_utils.cpp) divides a sum by the number of threads: of vector
// products, if the left operand is transposed and the sum has 2,048 products or more; of products
// in tiles, from 16 threads on, in parts of 1,024. In tiles, a result in bf16 can also be added up
// in two halves, if operands and result of a thread do not fit into its cache, and how much that is
// depends on the threads; up to 512 products they fit into the 2 MiB that cores with tiles have.
#include "backend/cpu/linear/matmul.hpp"

#include <algorithm>

#include "backend/cpu/instruction_set.hpp"
#include "backend/cpu/layout.hpp"
#include "backend/cpu/linear/products.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"
#include "base/cache_line.hpp"
#include "base/check.hpp"

namespace pipetrain::cpu {
namespace {

using Desc = dnnl::memory::desc;
using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

constexpr std::int64_t kLongestSum = 1024, kLongestSumToBf16 = 512;

dnnl::memory::dims strides_of(const Matrix& m) {
  return m.transposed ? dnnl::memory::dims{1, m.rows} : dnnl::memory::dims{m.columns, 1};
}

Desc plain(const Matrix& m) {
  return {{m.rows, m.columns}, m.element == Element::Bf16 ? Type::bf16 : Type::f32, strides_of(m)};
}

// [columns / width][rows / 32][16][width][2] of bf16, for instructions that add up pairs.
Desc in_blocks(std::int64_t rows, std::int64_t columns) {
  const Tag tag = columns > 48   ? Tag::BA16a64b2a
                  : columns > 32 ? Tag::BA16a48b2a
                  : columns > 16 ? Tag::BA16a32b2a
                                 : Tag::BA16a16b2a;
  return {{rows, columns}, Type::bf16, tag};
}

bool in_tiles(const Matrix& left) { return has_tiles() && left.element == Element::Bf16; }

// At most 16 pieces, one for each of up to 16 threads; each reads the whole right operand, so
// larger ones waste less.
std::int64_t rows_of_piece(std::int64_t rows) {
  if (rows < 64) return 16;
  return rows < 256 ? 32 : std::max<std::int64_t>(64, round_up((rows + 15) / 16, 16));
}

// Calls body(first, count) for the pieces of [0, inner).
template <class Body>
void each_piece(std::int64_t inner, bool whole, Body body) {
  const std::int64_t step = whole ? inner : kLongestSum;
  for (std::int64_t first = 0; first < inner; first += step)
    body(first, std::min(step, inner - first));
}

struct CallOptions {
  bool with_bias = false, with_relu = false, accumulates = false;
};

PreparedCall prepare(const std::string& layer, const Desc& left, const Desc& right,
                     const Desc& result, const CallOptions& options) {
  return with_onednn(layer, "matrix product", [&] {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    dnnl::post_ops operations;
    if (options.accumulates) operations.append_sum(1);
    if (options.with_relu) operations.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
    attributes.set_post_ops(operations);
    std::vector<PreparedCall::Argument> arguments{{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}};
    const Desc bias({1, result.get_dims()[1]}, Type::f32, Tag::ab);
    if (options.with_bias) arguments.push_back({DNNL_ARG_BIAS, bias});
    arguments.push_back({DNNL_ARG_DST, result});
    const auto description =
        options.with_bias
            ? dnnl::matmul::primitive_desc(engine(), left, right, bias, result, attributes)
            : dnnl::matmul::primitive_desc(engine(), left, right, result, attributes);
    return PreparedCall(dnnl::matmul(description), arguments, description.scratchpad_desc());
  });
}

}  // namespace

std::size_t bytes_in_blocks(std::int64_t rows, std::int64_t columns) {
  std::size_t bytes = 0;
  each_piece(rows, !has_tiles(), [&](std::int64_t, std::int64_t count) {
    bytes += in_blocks(count, columns).get_size();
  });
  return bytes;
}

void put_in_blocks(const std::string& layer, const Matrix& matrix, const void* values,
                   void* packed) {
  auto* to = static_cast<std::byte*>(packed);
  each_piece(matrix.rows, !has_tiles(), [&](std::int64_t first, std::int64_t count) {
    const Desc blocks = in_blocks(count, matrix.columns);
    const std::int64_t row = matrix.transposed ? 1 : matrix.columns;
    const Desc from({count, matrix.columns}, Type::f32, strides_of(matrix));
    reorder(layer, from, static_cast<const float*>(values) + first * row, blocks, to);
    to += blocks.get_size();
  });
}

MatrixProduct::MatrixProduct(const std::string& layer, const Matrix& left, const Matrix& right,
                             Element result, const ProductOptions& options)
    : left_(left), columns_(right.columns), by_rows_(!has_avx512()) {
  PIPETRAIN_CHECK(!by_rows_ || (left.element == Element::F32 && result == Element::F32),
                  "layer {}: a product of bf16 without AVX-512", layer);
  if (by_rows_) {
    prepare_rows(layer, right, options);
    return;
  }
  rounds_ = in_tiles(left) && result == Element::Bf16 && right.rows > kLongestSumToBf16;
  PIPETRAIN_CHECK(!rounds_ || !options.accumulates, "layer {}: adds to a result of bf16", layer);
  prepare_sums(
      layer, right,
      plain({.rows = left.rows, .columns = columns_, .element = rounds_ ? Element::F32 : result}),
      options);
  copy_at_ = rounds_ ? whole_lines(bytes_of<float>(left.rows * columns_)) : 0;
  const bool copies = pieces_.size() > 1 && !left.transposed;
  calls_at_ = copy_at_ + (copies ? whole_lines(bytes_of<Bf16>(left.rows * kLongestSum)) : 0);
}

void MatrixProduct::prepare_sums(const std::string& layer, const Matrix& right, const Desc& sums,
                                 const ProductOptions& options) {
  const std::int64_t inner = right.rows;
  std::size_t offset = 0;
  each_piece(inner, !in_tiles(left_) && !left_.transposed,
             [&](std::int64_t first, std::int64_t count) {
               Matrix a = left_, b = right;
               a.columns = b.rows = count;
               PIPETRAIN_CHECK(count == inner || options.packed || !right.transposed,
                               "layer {}: a transposed right operand in pieces", layer);
               const Desc operand = options.packed ? in_blocks(count, columns_) : plain(b);
               const CallOptions its{.with_bias = options.with_bias && first == 0,
                                     .with_relu = options.with_relu && first + count == inner,
                                     .accumulates = options.accumulates || first > 0};
               pieces_.push_back({.call = prepare(layer, plain(a), operand, sums, its),
                                  .row = 0,
                                  .first = first,
                                  .count = count,
                                  .right_offset = offset,
                                  .with_bias = its.with_bias});
               offset += operand.get_size();
               call_bytes_ = std::max(call_bytes_, pieces_.back().call.scratchpad_bytes());
             });
}

void MatrixProduct::prepare_rows(const std::string& layer, const Matrix& right,
                                 const ProductOptions& options) {
  const OneThread one;
  const std::int64_t rows = left_.rows, inner = right.rows, step = rows_of_piece(rows);
  for (std::int64_t row = 0; row < rows; row += step) {
    const std::int64_t count = std::min(step, rows - row);
    const Desc a({count, inner}, Type::f32, strides_of(left_));
    const CallOptions its{options.with_bias, options.with_relu, options.accumulates};
    pieces_.push_back(
        {.call = prepare(layer, a, plain(right), plain({.rows = count, .columns = columns_}), its),
         .row = row,
         .first = 0,
         .count = inner,
         .right_offset = 0,
         .with_bias = options.with_bias});
    call_bytes_ = std::max(call_bytes_, whole_lines(pieces_.back().call.scratchpad_bytes()));
  }
}

void MatrixProduct::operator()(const std::string& layer, const ProductMemory& m) {
  auto* const scratch = static_cast<std::byte*>(m.scratch);
  if (!by_rows_) {
    void* const sums = rounds_ ? scratch : m.result;
    for (Piece& piece : pieces_) run(layer, piece, m, sums, scratch);
    if (rounds_) round(sums, m.result);
    return;
  }
  const std::int64_t work = left_.rows * left_.columns * columns_;
  parallel_calls(std::ssize(pieces_), work, [&](std::int64_t i) {
    Piece& piece = pieces_[static_cast<std::size_t>(i)];
    const OneThread one;
    run(layer, piece, m, elements<float>(m.result) + piece.row * columns_,
        scratch + static_cast<std::size_t>(i) * call_bytes_);
  });
}

void MatrixProduct::run(const std::string& layer, Piece& piece, const ProductMemory& m, void* sums,
                        void* scratch) const {
  auto* const its = static_cast<std::byte*>(scratch);
  const void* const left = left_of(piece, m.left, its + copy_at_);
  const void* const right = static_cast<const std::byte*>(m.right) + piece.right_offset;
  if (piece.with_bias)
    piece.call(layer, {left, right, m.bias, sums, its + calls_at_});
  else
    piece.call(layer, {left, right, sums, its + calls_at_});
}

// Some rows or columns of the left operand: where they are, or copied, since oneDNN's kernels for
// tiles want them side by side.
const void* MatrixProduct::left_of(const Piece& piece, const void* left, void* scratch) const {
  const auto at = [&](std::int64_t element) -> const void* {
    return static_cast<const std::byte*>(left) +
           element * static_cast<std::int64_t>(element_bytes(left_.element));
  };
  if (left_.transposed) return at(piece.first * left_.rows + piece.row);
  if (by_rows_ || pieces_.size() == 1) return at(piece.row * left_.columns);
  const Bf16* const from = elements<Bf16>(left) + piece.first;
  Bf16* const to = elements<Bf16>(scratch);
  parallel_ranges(left_.rows, kElementWork * left_.rows * piece.count,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t row = begin; row < end; ++row)
                      std::copy_n(from + row * left_.columns, piece.count, to + row * piece.count);
                  });
  return scratch;
}

void MatrixProduct::round(const void* sums, void* result) const {
  const std::int64_t count = left_.rows * columns_;
  parallel_ranges(count, kElementWork * count, [&](std::int64_t begin, std::int64_t end) {
    element_loops<Bf16>().narrow(elements<float>(sums) + begin, elements<Bf16>(result) + begin,
                                 end - begin);
  });
}

}  // namespace pipetrain::cpu
