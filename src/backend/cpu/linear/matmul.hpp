// Matrix products by oneDNN, prepared once: c = a b + bias, or c += a b. Sums are f32.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backend/cpu/element.hpp"
#include "backend/cpu/onednn.hpp"

namespace pipetrain::cpu {

// A matrix as stored: [rows][columns], row by row; if transposed, column by column.
struct Matrix {
  std::int64_t rows = 0, columns = 0;
  bool transposed = false;
  Element element = Element::F32;

  dnnl::memory::desc layout() const;
};

// [rows / 16][columns / width][16 / 2][width][2] of bf16, the order for the instruction that adds
// up pairs: the layout to which the right operand of a bf16 product is packed.
dnnl::memory::desc in_blocks(std::int64_t rows, std::int64_t columns);

struct MatmulOptions {
  bool with_relu = false, accumulates = false;
};

// A call takes its memory in this order: left, right, (bias,) result, scratch. A bias is
// [1][columns]. DeviceError if oneDNN has no such product.
PreparedCall matmul(const std::string& layer, const dnnl::memory::desc& left,
                    const dnnl::memory::desc& right, const std::optional<dnnl::memory::desc>& bias,
                    const dnnl::memory::desc& result, const MatmulOptions& options = {});

}  // namespace pipetrain::cpu
