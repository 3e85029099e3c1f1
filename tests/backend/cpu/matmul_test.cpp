// Matrix products: their values, and that threads change no bit of them.
#include "backend/cpu/linear/matmul.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backend/cpu/linear/products.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

using cpu::Bf16;
using cpu::Element;
using cpu::Matrix;

struct ProductCase {
  std::string name;
  Matrix left, right;
  Element result = Element::F32;
  cpu::ProductOptions options = {};
};

constexpr Element kBf16 = Element::Bf16;

std::vector<ProductCase> f32_cases() {
  return {
      {.name = "transposed weights", .left = {321, 257}, .right = {257, 129, true}},

      {.name = "forward", .left = {64, 3000}, .right = {3000, 96}, .options = {.with_bias = true}},
      {.name = "weight gradient", .left = {256, 2048, true}, .right = {2048, 256}},
      {.name = "the same, more",
       .left = {256, 2500, true},
       .right = {2500, 64},
       .options = {.accumulates = true}}};
}

std::vector<ProductCase> bf16_cases() {
  return {{.name = "one column behind a block",
           .left = {1024, 511, false, kBf16},
           .right = {511, 1025},
           .result = kBf16,
           .options = {.packed = true}},
          {.name = "as long as it may be",
           .left = {512, 512, false, kBf16},
           .right = {512, 1024},
           .result = kBf16,
           .options = {.packed = true}},
          {.name = "input gradient, more",
           .left = {64, 1536, false, kBf16},
           .right = {1536, 384},
           .options = {.packed = true, .accumulates = true}},
          {.name = "forward",
           .left = {64, 2500, false, kBf16},
           .right = {2500, 512},
           .result = kBf16,
           .options = {.packed = true, .with_bias = true, .with_relu = true}},
          {.name = "forward to f32",
           .left = {33, 2100, false, kBf16},
           .right = {2100, 80, true},
           .options = {.packed = true, .with_bias = true}},
          {.name = "few inputs",
           .left = {100, 200, false, kBf16},
           .right = {200, 40, true},
           .result = kBf16,
           .options = {.packed = true}},
          {.name = "in one piece, rounded",
           .left = {500, 1000, false, kBf16},
           .right = {1000, 1000},
           .result = kBf16,
           .options = {.packed = true, .with_relu = true}},
          {.name = "weight gradient",
           .left = {256, 2048, true, kBf16},
           .right = {2048, 256, false, kBf16}},
          {.name = "the same, more",
           .left = {256, 2500, true, kBf16},
           .right = {2500, 64, false, kBf16},
           .options = {.accumulates = true}}};
}

// In the order of storage, all of them numbers that bf16 holds.
std::vector<float> numbers_of(std::int64_t count, unsigned seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = cpu::to_float(cpu::from_float<Bf16>(
        static_cast<float>((i * 2654435761U + seed * 40503U) % 1999U) / 1000.0F - 1.0F));
  return values;
}

float value_at(const Matrix& m, const std::vector<float>& values, std::int64_t row,
               std::int64_t column) {
  return values[static_cast<std::size_t>(m.transposed ? column * m.rows + row
                                                      : row * m.columns + column)];
}

// What a kernel is given: f32 as it is, bf16 in half the bytes.
std::vector<std::byte> stored(const std::vector<float>& values, Element element) {
  std::vector<std::byte> bytes(values.size() * cpu::element_bytes(element));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (element == kBf16)
      reinterpret_cast<Bf16*>(bytes.data())[i] = cpu::from_float<Bf16>(values[i]);
    else
      reinterpret_cast<float*>(bytes.data())[i] = values[i];
  return bytes;
}

struct Inputs {
  explicit Inputs(const ProductCase& c)
      : left(numbers_of(c.left.rows * c.left.columns, 1)),
        right(numbers_of(c.right.rows * c.right.columns, 2)),
        bias(numbers_of(c.right.columns, 3)),
        before(numbers_of(c.left.rows * c.right.columns, 4)) {}
  std::vector<float> left, right, bias, before;
};

std::vector<float> product_by(int threads, const ProductCase& c, const Inputs& inputs) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  cpu::MatrixProduct product("fc", c.left, c.right, c.result, c.options);
  const auto left = stored(inputs.left, c.left.element);
  auto right = stored(inputs.right, c.right.element), result = stored(inputs.before, c.result);
  if (c.options.packed) {
    right.resize(cpu::bytes_in_blocks(c.right.rows, c.right.columns));
    cpu::put_in_blocks("fc", c.right, inputs.right.data(), right.data());
  }
  std::vector<std::byte> scratch(product.scratch_bytes() + 64);
  const auto past = reinterpret_cast<std::uintptr_t>(scratch.data()) % 64;
  product("fc", {.left = left.data(),
                 .right = right.data(),
                 .bias = inputs.bias.data(),
                 .result = result.data(),
                 .scratch = scratch.data() + (64 - past) % 64});
  omp_set_num_threads(before);
  std::vector<float> values(inputs.before.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = c.result == kBf16 ? cpu::to_float(reinterpret_cast<Bf16*>(result.data())[i])
                                  : reinterpret_cast<float*>(result.data())[i];
  return values;
}

std::vector<double> exactly(const ProductCase& c, const Inputs& inputs) {
  std::vector<double> sums;
  for (std::int64_t row = 0; row < c.left.rows; ++row)
    for (std::int64_t column = 0; column < c.right.columns; ++column) {
      double sum = c.options.with_bias ? inputs.bias[static_cast<std::size_t>(column)] : 0;
      if (c.options.accumulates) sum += inputs.before[sums.size()];
      for (std::int64_t k = 0; k < c.right.rows; ++k)
        sum += static_cast<double>(value_at(c.left, inputs.left, row, k)) *
               value_at(c.right, inputs.right, k, column);
      sums.push_back(c.options.with_relu ? std::max(sum, 0.0) : sum);
    }
  return sums;
}

void check_products(const std::vector<ProductCase>& cases) {
  for (const ProductCase& c : cases) {
    INFO(c.name);
    const Inputs inputs(c);
    const std::vector<float> one = product_by(1, c, inputs);
    const std::vector<double> exact = exactly(c, inputs);
    double largest = 0, off = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
      largest = std::max(largest, std::abs(exact[i]));
      off = std::max(off, std::abs(exact[i] - one[i]));
    }
    CHECK(off <= (c.result == kBf16 ? 1.0 / 256 : 1e-5) * largest);
    for (const int threads : {2, 3, 6, 24}) {
      if (threads > omp_get_thread_limit())
        break;  // a worker never asks for more (machine/threads)
      INFO(threads << " threads");
      const std::vector<float> many = product_by(threads, c, inputs);
      std::size_t differing = 0;
      for (std::size_t i = 0; i < one.size(); ++i) differing += many[i] != one[i] ? 1 : 0;
      CHECK(differing == 0);
    }
  }
}

}  // namespace

TEST_CASE("cpu: threads change no bit of a product of f32", "[backend]") {
  check_products(f32_cases());
}

TEST_CASE("cpu: threads change no bit of a product of bf16", "[backend]") {
  if (cpu::products_here() == cpu::Products::F32) {
    WARN("skipped: no layer multiplies bf16 on this machine");
    return;
  }
  check_products(bf16_cases());
}
