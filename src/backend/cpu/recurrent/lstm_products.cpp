// Packed for forward: the sum of both biases, and W_hh; for backward: W_hh. In f32 W_hh is in
// panels of 32 outputs, which our own loops stream; in bf16 it is in blocks, together with W_ih.
#include "backend/cpu/recurrent/lstm_products.hpp"

#include <algorithm>

#include "backend/cpu/layout.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/cpu/parallel.hpp"
#include "base/bytes_of.hpp"
#include "base/cache_line.hpp"

namespace pipetrain::cpu {
namespace {

template <class E>
constexpr bool stores_bf16 = element_of<E> == Element::Bf16;

std::int64_t panels_of(std::int64_t outputs) { return round_up(outputs, kPanel) / kPanel; }

// ---- the packed parts, one after another

struct PackedParts {
  std::size_t bias = 0, recurrent = 0, input = 0, end = 0;  // where each begins, in bytes
};

// For a product with this many inputs and outputs.
template <class E>
std::size_t packed_matrix_bytes(std::int64_t in, std::int64_t out) {
  if (stores_bf16<E>) return whole_lines(bytes_in_blocks(in, out));
  return bytes_of<float>(panels_of(out) * in * kPanel);
}

template <class E>
PackedParts parts_of(const LstmSizes& s, Pass pass) {
  const bool forward = pass == Pass::Forward;
  PackedParts at;
  at.recurrent = forward ? whole_lines(bytes_of<float>(round_up(s.gates(), kPanel))) : 0;
  at.input = at.recurrent + (forward ? packed_matrix_bytes<E>(s.hidden, s.gates())
                                     : packed_matrix_bytes<E>(s.gates(), s.hidden));
  at.end = at.input;
  if (stores_bf16<E>)
    at.end += forward ? packed_matrix_bytes<E>(s.width, s.gates())
                      : packed_matrix_bytes<E>(s.gates(), s.width);
  return at;
}

template <class Memory>
Memory* part(Memory* packed, std::size_t at) {
  using Byte = std::conditional_t<std::is_const_v<Memory>, const std::byte, std::byte>;
  return static_cast<Byte*>(packed) + at;
}

// Packs W [out][in] to [out / 32][in][32], with zeros after the last output.
void pack_turned(const float* w, std::int64_t in, std::int64_t out, float* packed) {
  const std::int64_t whole = in / kLanes * kLanes;
  parallel_each(panels_of(out), kElementWork * in * out, [&](std::int64_t panel) {
    float* const to = packed + panel * in * kPanel;
    for (std::int64_t h = 0; h < kPanel; h += kLanes) {
      const std::int64_t o = panel * kPanel + h,
                         rows = std::clamp<std::int64_t>(out - o, 0, kLanes);
      for (std::int64_t i = 0; i < whole; i += kLanes)
        vector_loops().f32.transpose_tile(w + std::min(o, out - 1) * in + i, in, rows,
                                          to + i * kPanel + h, kPanel, kLanes);
      for (std::int64_t i = whole; i < in; ++i)
        for (std::int64_t r = 0; r < kLanes; ++r)
          to[i * kPanel + h + r] = r < rows ? w[(o + r) * in + i] : 0;
    }
  });
}

// The same from W [in][out].
void pack_columns(const float* w, std::int64_t in, std::int64_t out, float* packed) {
  parallel_each(panels_of(out), kElementWork * in * out, [&](std::int64_t panel) {
    const std::int64_t first = panel * kPanel, there = std::min(kPanel, out - first);
    for (std::int64_t i = 0; i < in; ++i) {
      float* const to = packed + (panel * in + i) * kPanel;
      std::copy_n(w + i * out + first, there, to);
      std::fill(to + there, to + kPanel, 0.0f);
    }
  });
}

LinearForwardLoop loop_of(const float* x, const void* panels, float* y, std::int64_t samples,
                          std::int64_t in, std::int64_t out) {
  return {.x = x,
          .weights = static_cast<const float*>(panels),
          .bias = nullptr,
          .y = y,
          .samples = samples,
          .in = in,
          .out = out};
}

void run(const LinearForwardLoop& loop) {
  parallel_ranges(panels_of(loop.out) * linear_tiles(loop.samples),
                  loop.samples * loop.in * loop.out,
                  [&](std::int64_t begin, std::int64_t end, std::int64_t part_end) {
                    vector_loops().linear_forward(loop, begin, end, part_end);
                  });
}

}  // namespace

template <class E>
LstmProducts<E>::LstmProducts(std::string layer, const LstmSizes& sizes, Mode mode)
    : layer_(std::move(layer)), sizes_(sizes) {
  const std::int64_t rows = sizes.rows(), width = sizes.width, hidden = sizes.hidden,
                     gates = sizes.gates();
  constexpr Element element = element_of<E>;
  constexpr bool packed = stores_bf16<E>;
  const auto values = [](std::int64_t r, std::int64_t c, bool transposed = false) {
    return Matrix{r, c, transposed, element};
  };
  const auto prepare = [&](MatrixProduct& product, const Matrix& a, const Matrix& b,
                           const ProductOptions& options) {
    product = MatrixProduct(layer_, a, b, Element::F32, options);
    scratch_bytes_ = std::max(scratch_bytes_, product.scratch_bytes());
  };
  prepare(input_sums_, values(rows, width), {width, gates, true},
          {.packed = packed, .with_bias = true});
  if (packed)
    prepare(state_sums_, values(sizes.samples, hidden), {hidden, gates}, {.packed = true});
  if (mode != Mode::Train) return;
  if (packed)
    prepare(state_gradient_, values(sizes.samples, gates), {gates, hidden}, {.packed = true});
  for (const bool more : {false, true}) {
    prepare(by(more, input_gradient_), values(rows, gates), {gates, width},
            {.packed = packed, .accumulates = more});
    prepare(by(more, input_weight_), values(gates, rows, true), values(rows, width),
            {.accumulates = more});
    prepare(by(more, state_weight_), values(gates, rows, true), values(rows, hidden),
            {.accumulates = more});
  }
}

template <class E>
void LstmProducts<E>::input_sums(const LstmWeights& weights, const void* packed, const void* x,
                                 float* sums, void* scratch) {
  const PackedParts at = parts_of<E>(sizes_, Pass::Forward);
  const void* const right = stores_bf16<E> ? part(packed, at.input) : weights.input;
  input_sums_(layer_, {.left = x,
                       .right = right,
                       .bias = part(packed, at.bias),
                       .result = sums,
                       .scratch = scratch});
}

template <class E>
void LstmProducts<E>::state_sums(const void* packed, const E* h, float* sums, void* scratch) {
  const void* const right = part(packed, parts_of<E>(sizes_, Pass::Forward).recurrent);
  if constexpr (stores_bf16<E>)
    state_sums_(layer_, {.left = h, .right = right, .result = sums, .scratch = scratch});
  else
    run(loop_of(h, right, sums, sizes_.samples, sizes_.hidden, sizes_.gates()));
}

template <class E>
void LstmProducts<E>::state_gradient(const void* packed, const E* da, float* dh, void* scratch) {
  const void* const right = part(packed, parts_of<E>(sizes_, Pass::Backward).recurrent);
  if constexpr (stores_bf16<E>)
    state_gradient_(layer_, {.left = da, .right = right, .result = dh, .scratch = scratch});
  else
    run(loop_of(da, right, dh, sizes_.samples, sizes_.gates(), sizes_.hidden));
}

template <class E>
void LstmProducts<E>::input_gradient(const LstmWeights& weights, const void* packed, const E* da,
                                     float* dx, bool accumulate, void* scratch) {
  const void* const right =
      stores_bf16<E> ? part(packed, parts_of<E>(sizes_, Pass::Backward).input) : weights.input;
  by(accumulate, input_gradient_)(layer_,
                                  {.left = da, .right = right, .result = dx, .scratch = scratch});
}

template <class E>
void LstmProducts<E>::input_weight_gradient(const E* da, const void* x, float* gradient,
                                            bool accumulate, void* scratch) {
  by(accumulate, input_weight_)(layer_,
                                {.left = da, .right = x, .result = gradient, .scratch = scratch});
}

template <class E>
void LstmProducts<E>::state_weight_gradient(const E* da, const E* h, float* gradient,
                                            bool accumulate, void* scratch) {
  by(accumulate, state_weight_)(layer_,
                                {.left = da, .right = h, .result = gradient, .scratch = scratch});
}

template <class E>
std::size_t lstm_packed_bytes(const LstmSizes& sizes, Pass pass) {
  return parts_of<E>(sizes, pass).end;
}

template <class E>
void pack_lstm(const std::string& layer, const LstmSizes& s, Pass pass, const LstmWeights& weights,
               void* packed) {
  const PackedParts at = parts_of<E>(s, pass);
  const bool forward = pass == Pass::Forward;
  if (forward) {
    auto* const bias = static_cast<float*>(packed);
    for (std::int64_t g = 0; g < round_up(s.gates(), kPanel); ++g)
      bias[g] = weights.input_bias && g < s.gates()
                    ? weights.input_bias[g] + weights.recurrent_bias[g]
                    : 0;
  }
  if constexpr (stores_bf16<E>) {
    const auto blocks = [&](const float* matrix, std::int64_t in, std::size_t to) {
      // W is [gates][in]; the right operand of the product is W^T in forward, W in backward.
      put_in_blocks(
          layer, forward ? Matrix{in, s.gates(), true} : Matrix{.rows = s.gates(), .columns = in},
          matrix, part(packed, to));
    };
    blocks(weights.recurrent, s.hidden, at.recurrent);
    blocks(weights.input, s.width, at.input);
  } else {
    auto* const panels = static_cast<float*>(static_cast<void*>(part(packed, at.recurrent)));
    if (forward)
      pack_turned(weights.recurrent, s.hidden, s.gates(), panels);
    else
      pack_columns(weights.recurrent, s.gates(), s.hidden, panels);
  }
}

template class LstmProducts<float>;
template class LstmProducts<Bf16>;
template std::size_t lstm_packed_bytes<float>(const LstmSizes&, Pass);
template std::size_t lstm_packed_bytes<Bf16>(const LstmSizes&, Pass);
template void pack_lstm<float>(const std::string&, const LstmSizes&, Pass, const LstmWeights&,
                               void*);
template void pack_lstm<Bf16>(const std::string&, const LstmSizes&, Pass, const LstmWeights&,
                              void*);

}  // namespace pipetrain::cpu
