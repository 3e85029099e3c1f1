// The three products of a linear layer in cuBLASLt's column-major terms. A row-major matrix read as
// column-major is its transpose, so each product is written transposed, and nothing is ever moved:
//
//   stored, row-major       column-major        product, row-major     so, column-major
//   x  [rows, in]           X = in by rows      y  = x W^T + b         Y  = W^T X   (W transposed)
//   W  [out, in]            W = in by out       dx = dy W              DX = W DY
//   y  [rows, out]          Y = out by rows     dW = dy^T x            DW = X DY^T  (DY transposed)
//
// Y's rows are the output features: the bias has one value per row of Y, as the product adds it.
#pragma once

#include "backend/cuda/matmul.hpp"

namespace pipetrain::cuda {

struct LinearSizes {
  std::int64_t rows = 0, in = 0, out = 0;
};

MatmulProblem linear_forward(const LinearSizes& sizes, bool bias);  // a, b, d: W, x, y
MatmulProblem linear_input_gradient(const LinearSizes& sizes);      // a, b, d: W, dy, dx
MatmulProblem linear_weight_gradient(const LinearSizes& sizes);     // a, b, d: x, dy, dW

}  // namespace pipetrain::cuda
