// Batch normalisation, 16 channels to a vector. Included by vector_loops.inl.

// Calls visit(offset) for every pixel; sums within a sample are f32, sums over samples f64.
template <class Sample>
PIPETRAIN_INLINE void each_sample(const ChannelWalk& w, double* first, double* second,
                                  Sample sample) {
  for (int i = 0; i < kLanes; ++i) first[i] = second[i] = 0;
  for (std::int64_t n = 0; n < w.samples; ++n) {
    Vector a[2] = {}, b[2] = {};
    const std::int64_t at = n * w.sample_stride;
    std::int64_t i = 0;
    for (; i + 2 <= w.pixels; i += 2) {
      sample(at + i * w.pixel_stride, a[0], b[0]);
      sample(at + (i + 1) * w.pixel_stride, a[1], b[1]);
    }
    if (i < w.pixels) sample(at + i * w.pixel_stride, a[0], b[0]);
    float of_first[kLanes], of_second[kLanes];
    store(of_first, a[0] + a[1]);
    store(of_second, b[0] + b[1]);
    for (int lane = 0; lane < kLanes; ++lane) {
      first[lane] += static_cast<double>(of_first[lane]);
      second[lane] += static_cast<double>(of_second[lane]);
    }
  }
}

template <class Body>
PIPETRAIN_INLINE void by_lanes(const ChannelWalk& w, Body body) {
  if (w.lanes == kLanes)
    body(Whole{});
  else
    body(Part{w.lanes});
}

template <class Lanes, class E>
PIPETRAIN_INLINE Vector gradient_at(const BatchNormLoop& l, Lanes lanes, const E* dy,
                                    std::int64_t at) {
  const Vector g = lanes.get(dy + at);
  if (!l.kept) return g;
  return select(convert<Ints>(lanes.get(l.kept + at)) != 0, g, Vector{});
}

template <class E>
void moments(const ChannelWalk& w, const E* x, const float* shift, double* sum, double* squares) {
  by_lanes(
      w, [&](auto lanes) __attribute__((always_inline)) {
        const Vector origin = load(shift);
        each_sample(
            w, sum,
            squares, [&](std::int64_t at, Vector & a, Vector & b) __attribute__((always_inline)) {
              const Vector d = lanes.get(x + at) - origin;
              a += d;
              b += d * d;
            });
      });
}

template <class E>
void gradient_sums(const BatchNormLoop& l, const E* x, const E* dy, double* sum, double* product) {
  by_lanes(
      l.walk, [&](auto lanes) __attribute__((always_inline)) {
        const Vector mean = load(l.mean);
        each_sample(
            l.walk, sum,
            product, [&](std::int64_t at, Vector & a, Vector & b) __attribute__((always_inline)) {
              const Vector g = gradient_at(l, lanes, dy, at);
              a += g;
              b += g * (lanes.get(x + at) - mean);
            });
      });
}

template <class Visit>
PIPETRAIN_INLINE void each_pixel(const ChannelWalk& w, Visit visit) {
  for (std::int64_t n = 0; n < w.samples; ++n)
    for (std::int64_t i = 0; i < w.pixels; ++i) visit(n * w.sample_stride + i * w.pixel_stride);
}

template <class E>
void normalise(const BatchNormLoop& l, const E* x, const float* gamma, const float* beta, E* y,
               std::uint8_t* kept, bool with_relu) {
  by_lanes(
      l.walk, [&](auto lanes) __attribute__((always_inline)) {
        const Vector mean = load(l.mean), factor = load(l.scale) * load(gamma), shift = load(beta);
        each_pixel(
            l.walk, [&](std::int64_t at) __attribute__((always_inline)) {
              Vector v = (lanes.get(x + at) - mean) * factor + shift;
              if (kept) lanes.put(kept + at, convert<Bytes>(v > 0.0f));
              lanes.put(y + at, with_relu ? positive_part(v) : v);
            });
      });
}

template <class E>
void normalise_backward(const BatchNormLoop& l, const E* x, const E* dy, const float* factor,
                        const float* shift, const float* slope, E* dx) {
  by_lanes(
      l.walk, [&](auto lanes) __attribute__((always_inline)) {
        const Vector mean = load(l.mean), f = load(factor), s = load(shift), k = load(slope);
        each_pixel(
            l.walk, [&](std::int64_t at) __attribute__((always_inline)) {
              const Vector g = gradient_at(l, lanes, dy, at);
              lanes.put(dx + at, f * (g - s - (lanes.get(x + at) - mean) * k));
            });
      });
}
