// The gates of an lstm. Contracts: lstm_loops.hpp. Included by vector_loops.inl.

PIPETRAIN_INLINE bool has_ended(const LstmPosition& at, std::int64_t sample) {
  return at.lengths && at.position >= at.lengths[sample];
}

template <class E>
PIPETRAIN_INLINE void lstm_row(const LstmStep<E>& s, std::int64_t sample) {
  const std::int64_t hidden = s.at.hidden, row = sample * s.at.length;
  const float* const sums = s.sums + row * 4 * hidden;
  const float* const recurrent = s.recurrent ? s.recurrent + sample * 4 * hidden : nullptr;
  const float* const before = s.cells_before ? s.cells_before + row * hidden : nullptr;
  E* const gates = s.gates ? s.gates + row * 4 * hidden : nullptr;
  float* const cells = s.cells + row * hidden;
  E *const h = s.h + sample * hidden, *const y = s.y + row * s.at.output_stride;
  by_vectors(
      hidden, [&](std::int64_t j, auto lanes) __attribute__((always_inline)) {
        Vector gate[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
          gate[k] = lanes.get(sums + k * hidden + j);
          if (recurrent) gate[k] += lanes.get(recurrent + k * hidden + j);
          gate[k] = k == 2 ? tanh_of(gate[k]) : sigmoid_of(gate[k]);
        }
        Vector cell = gate[0] * gate[2];
        if (before) cell += gate[1] * lanes.get(before + j);
        const Vector out = gate[3] * tanh_of(cell);
        lanes.put(cells + j, cell);
        lanes.put(h + j, out);
        lanes.put(y + j, out);
        if (!gates) return;
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) lanes.put(gates + k * hidden + j, gate[k]);
      });
}

template <class E>
void lstm_step(const LstmStep<E>& s, std::int64_t begin, std::int64_t end) {
  for (std::int64_t sample = begin; sample < end; ++sample) {
    if (!has_ended(s.at, sample)) {
      lstm_row(s, sample);
      continue;
    }
    const std::int64_t hidden = s.at.hidden, row = sample * s.at.length;
    if (s.gates) fill_zeros(s.gates + row * 4 * hidden, 4 * hidden);
    fill_zeros(s.cells + row * hidden, hidden);
    fill_zeros(s.h + sample * hidden, hidden);
    fill_zeros(s.y + row * s.at.output_stride, hidden);
  }
}

template <class E>
PIPETRAIN_INLINE void lstm_row_backward(const LstmBackwardStep<E>& s, std::int64_t sample) {
  const std::int64_t hidden = s.at.hidden, row = sample * s.at.length;
  E *const gates = s.gates + row * 4 * hidden, *const h_before = s.h_before + row * hidden,
           *const sums = s.sums + sample * 4 * hidden;
  const E* const gates_before = s.gates_before ? s.gates_before + row * 4 * hidden : nullptr;
  const float *const cells = s.cells + row * hidden, *const cells_before =
                                                         gates_before
                                                             ? s.cells_before + row * hidden
                                                             : nullptr;
  const E* const dy = s.dy + row * s.at.output_stride;
  const float* const dh = s.dh ? s.dh + sample * hidden : nullptr;
  float* const dc = s.dc + sample * hidden;
  by_vectors(
      hidden, [&](std::int64_t j, auto lanes) __attribute__((always_inline)) {
        const Vector i = lanes.get(gates + j), f = lanes.get(gates + hidden + j),
                     g = lanes.get(gates + 2 * hidden + j), o = lanes.get(gates + 3 * hidden + j);
        const Vector bent = tanh_of(lanes.get(cells + j));
        const Vector before = gates_before ? lanes.get(cells_before + j) : Vector{};
        const Vector of_h = dh ? lanes.get(dy + j) + lanes.get(dh + j) : lanes.get(dy + j);
        Vector of_c = of_h * o * (1.0f - bent * bent);
        if (dh) of_c += lanes.get(dc + j);
        const Vector of[4] = {of_c * g * i * (1.0f - i), of_c * before * f * (1.0f - f),
                              of_c * i * (1.0f - g * g), of_h * bent * o * (1.0f - o)};
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) {
          lanes.put(gates + k * hidden + j, of[k]);
          lanes.put(sums + k * hidden + j, of[k]);
        }
        lanes.put(dc + j, of_c * f);
        Vector h{};
        if (gates_before) h = lanes.get(gates_before + 3 * hidden + j) * tanh_of(before);
        lanes.put(h_before + j, h);
      });
}

template <class E>
void lstm_step_backward(const LstmBackwardStep<E>& s, std::int64_t begin, std::int64_t end) {
  for (std::int64_t sample = begin; sample < end; ++sample) {
    if (!has_ended(s.at, sample)) {
      lstm_row_backward(s, sample);
      continue;
    }
    const std::int64_t hidden = s.at.hidden, row = sample * s.at.length;
    fill_zeros(s.gates + row * 4 * hidden, 4 * hidden);
    fill_zeros(s.h_before + row * hidden, hidden);
    fill_zeros(s.dc + sample * hidden, hidden);
    fill_zeros(s.sums + sample * 4 * hidden, 4 * hidden);
  }
}
