#include "backend/cpu/peak.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <vector>

#include "backend/cpu/onednn.hpp"

namespace pipetrain {

namespace {

double peak_of_this_thread() {
  constexpr dnnl::memory::dim size = 1536;
  constexpr int runs = 20;
  return cpu::with_onednn("matmul", "measure the peak", [] {
    const dnnl::memory::desc square({size, size}, dnnl::memory::data_type::f32,
                                    dnnl::memory::format_tag::ab);
    const dnnl::matmul matmul(dnnl::matmul::primitive_desc(cpu::engine(), square, square, square));
    std::vector<float> numbers(3 * size * size, 0.5f);
    const auto part = [&](int i) {
      return dnnl::memory(square, cpu::engine(), numbers.data() + i * size * size);
    };
    dnnl::stream stream(cpu::engine());
    double best = 1e30;
    for (int run = 0; run < runs; ++run) {
      const auto start = std::chrono::steady_clock::now();
      matmul.execute(
          stream, {{DNNL_ARG_SRC, part(0)}, {DNNL_ARG_WEIGHTS, part(1)}, {DNNL_ARG_DST, part(2)}});
      stream.wait();
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      best = std::min(best, seconds.count());
    }
    return 2.0 * size * size * size / best * 1e-9;
  });
}

}  // namespace

double measured_peak_gflops(int threads) {
  return std::async(std::launch::async,
                    [threads] {
                      omp_set_num_threads(threads);
                      return peak_of_this_thread();
                    })
      .get();
}

}  // namespace pipetrain
