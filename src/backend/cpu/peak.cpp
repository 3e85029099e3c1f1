#include "backend/cpu/peak.hpp"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <unordered_map>
#include <vector>

#include "backend/cpu/onednn.hpp"

namespace pipetrain {

namespace {

// The weights are in the layout that oneDNN prefers: with rows of 6 KiB it runs at half the speed.
double peak_of_this_thread() {
  constexpr dnnl::memory::dim size = 1536;
  constexpr int runs = 20;
  return cpu::with_onednn("matmul", "measure the peak", [] {
    using Format = dnnl::memory::format_tag;
    const auto square = [](Format format) {
      return dnnl::memory::desc({size, size}, dnnl::memory::data_type::f32, format);
    };
    const dnnl::memory::desc rows = square(Format::ab);
    const dnnl::matmul::primitive_desc best(cpu::engine(), rows, square(Format::any), rows);
    const dnnl::matmul matmul(best);
    const auto filled = [](const dnnl::memory::desc& description) {
      return std::vector<float>(description.get_size() / sizeof(float), 0.5f);
    };
    std::vector<float> a = filled(rows), b = filled(best.weights_desc()), c = filled(rows);
    dnnl::stream stream(cpu::engine());
    const std::unordered_map<int, dnnl::memory> arguments{
        {DNNL_ARG_SRC, {rows, cpu::engine(), a.data()}},
        {DNNL_ARG_WEIGHTS, {best.weights_desc(), cpu::engine(), b.data()}},
        {DNNL_ARG_DST, {rows, cpu::engine(), c.data()}}};
    double shortest = 1e30;
    for (int run = 0; run < runs; ++run) {
      const auto start = std::chrono::steady_clock::now();
      matmul.execute(stream, arguments);
      stream.wait();
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      shortest = std::min(shortest, seconds.count());
    }
    return 2.0 * size * size * size / shortest * 1e-9;
  });
}

}  // namespace

double measured_peak_gflops(int threads) {
  return std::async(std::launch::async,
                    [threads] {
                      omp_set_num_threads(std::min(threads, omp_get_thread_limit()));
                      return peak_of_this_thread();
                    })
      .get();
}

}  // namespace pipetrain
