// Matrix products by oneDNN, prepared once: c = a b + bias, or c += a b. Sums are f32.
//
// The bits do not depend on the number of threads. oneDNN divides a long sum among threads where
// there are many of them for few results, so none of its calls gets one: a long sum is made in
// pieces of a fixed length, one after another. Without AVX-512, it adds up the results at the edge
// of a thread's share in another order: there, each piece is some rows of the result, by one
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backend/cpu/element.hpp"
#include "backend/cpu/onednn.hpp"

namespace pipetrain::cpu {

// A matrix as stored: [rows][columns], row by row; if transposed, column by column.
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  bool transposed = false;
  Element element = Element::F32;
};

// A right operand of bf16, copied into the blocks that oneDNN's kernels read.
std::size_t bytes_in_blocks(std::int64_t rows, std::int64_t columns);
// `matrix` is f32.
void put_in_blocks(const std::string& layer, const Matrix& matrix, const void* values,
                   void* packed);

struct ProductOptions {
  bool packed = false;  // the right operand
  bool with_bias = false, with_relu = false, accumulates = false;
};

struct ProductMemory {
  const void *left, *right;
  const void* bias = nullptr;  // [columns] of floats
  void *result, *scratch;
};

class MatrixProduct {
  using Desc = dnnl::memory::desc;

 public:
  MatrixProduct() = default;
  // `left` [rows][inner], `right` [inner][columns] and the result, row by row. DeviceError if
  // oneDNN has no such product.
  MatrixProduct(const std::string& layer, const Matrix& left, const Matrix& right, Element result,
                const ProductOptions& options = {});

  std::size_t scratch_bytes() const {
    return calls_at_ + call_bytes_ * (by_rows_ ? pieces_.size() : 1);
  }
  // On the caller's OpenMP team. DeviceError if oneDNN fails.
  void operator()(const std::string& layer, const ProductMemory& memory);

 private:
  struct Piece {
    PreparedCall call;
    std::int64_t row, first, count;  // its first row; its part of the inner dimension
    std::size_t right_offset;        // bytes
    bool with_bias;
  };
  void prepare_sums(const std::string& layer, const Matrix& right, const Desc& sums,
                    const ProductOptions& options);
  void prepare_rows(const std::string& layer, const Matrix& right, const ProductOptions& options);
  void run(const std::string& layer, Piece& piece, const ProductMemory& memory, void* sums,
           void* scratch) const;
  const void* left_of(const Piece& piece, const void* left, void* scratch) const;
  void round(const void* sums, void* result) const;

  Matrix left_;
  std::int64_t columns_ = 0;
  bool rounds_ = false;   // sums in scratch to the result
  bool by_rows_ = false;  // pieces are rows, of f32, at the same time
  std::vector<Piece> pieces_;
  std::size_t copy_at_ = 0, calls_at_ = 0, call_bytes_ = 0;  // in scratch, behind the sums
};

}  // namespace pipetrain::cpu
