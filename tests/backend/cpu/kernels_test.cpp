// The cpu backend's own promises: the same bits every time, and the same results however a
// convolution is grouped and however many samples come.
#include <omp.h>

#include <cmath>
#include <memory>

#include "backend/cpu/cpu_backend.hpp"
#include "backend/cpu/instruction_set.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "backend/reference/reference_backend.hpp"
#include "base/error.hpp"
#include "graph/graph.hpp"
#include "outcomes.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

Graph vgg_like() {
  const Conv2d conv{.out_channels = 32, .kernel = {3, 3}, .padding = {1, 1}, .bias = false};
  return make_graph({3, 16, 16},
                    {{"conv1", conv, {32, 16, 16}},
                     {"bn1", BatchNorm{}, {32, 16, 16}},
                     {"relu1", Relu{}, {32, 16, 16}},
                     {"conv2", conv, {32, 16, 16}},
                     {"bn2", BatchNorm{}, {32, 16, 16}},
                     {"relu2", Relu{}, {32, 16, 16}},
                     {"pool", MaxPool{{2, 2}, {2, 2}}, {32, 8, 8}},
                     {"flat", Flatten{}, {2048}},
                     {"fc1", Linear{.out_features = 70}, {70}},
                     {"relu3", Relu{}, {70}},
                     {"fc2", Linear{.out_features = 10}, {10}}},
                    Loss::CrossEntropy);
}

}  // namespace

TEST_CASE("the same work done twice gives the same bits", "[cpu]") {
  const auto backend = make_cpu_backend();
  const Task task = make_task(vgg_like(), 8, Mode::Train, 2);
  const int threads = GENERATE(1, 2), before = omp_get_max_threads();
  omp_set_num_threads(threads);
  const Outcome first = run(*backend, task), second = run(*backend, task);
  omp_set_num_threads(before);
  check_same_bits(first, second);
}

TEST_CASE("our own loops give the same bits for any number of threads", "[cpu]") {
  const auto backend = make_cpu_backend();
  const Graph graph = make_graph({24, 12, 12}, {{"bn", BatchNorm{}, {24, 12, 12}},
                                                {"relu", Relu{}, {24, 12, 12}},
                                                {"pool", MaxPool{{3, 3}, {2, 2}}, {24, 5, 5}},
                                                {"drop", Dropout{.p = 0.25}, {24, 5, 5}},
                                                {"flat", Flatten{}, {600}},
                                                {"fc1", Linear{.out_features = 130}, {130}},
                                                {"relu2", Relu{}, {130}},
                                                {"fc2", Linear{.out_features = 10}, {10}}});
  const Task task = make_task(graph, 33, Mode::Train, 2);
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Outcome alone = run(*backend, task);
  omp_set_num_threads(3);
  const Outcome together = run(*backend, task);
  omp_set_num_threads(before);
  check_same_bits(alone, together);
}

TEST_CASE("a blocked network agrees with the reference", "[cpu]") {
  const auto cpu = make_cpu_backend(), reference = make_reference_backend();
  const int samples = GENERATE(1, 7);
  const Task task = make_task(vgg_like(), samples, Mode::Train, 2);
  check_close(run(*cpu, task), run(*reference, task));
}

// Without the instruction that multiplies bf16 the library makes their weight gradients.
TEST_CASE("small images in bf16 agree with the reference given any AVX-512", "[cpu]") {
  if (!cpu::has_avx512()) {
    WARN("skipped: without AVX-512 the library multiplies no bf16");
    return;
  }
  const auto cpu = make_cpu_backend(cpu::Products::Bf16), reference = make_reference_backend();
  const std::int64_t size = GENERATE(2, 4, 8);
  CAPTURE(size);
  const Conv2d conv{.out_channels = 48, .kernel = {3, 3}, .padding = {1, 1}};
  Task task = make_task(make_graph({32, size, size}, {{"conv", conv, {48, size, size}}}), 5,
                        Mode::Train, 2);
  const Outcome theirs = run(*reference, task);
  task.precision = Precision::Bf16;
  const Outcome ours = run(*cpu, task);
  for (const auto& [parameter, gradient] : theirs.gradients) {
    INFO(parameter);
    CHECK(difference(ours.gradients.at(parameter), gradient) <= 2e-2);
  }
}

TEST_CASE("groups that do not fill blocks of 16 agree with the reference", "[cpu]") {
  const auto cpu = make_cpu_backend(), reference = make_reference_backend();
  const std::int64_t groups = GENERATE(1, 2, 4, 16, 32);
  INFO("groups " << groups);
  const Graph graph = make_graph(
      {32, 6, 6},
      {{"conv", Conv2d{.out_channels = 64, .kernel = {3, 3}, .groups = groups}, {64, 4, 4}},
       {"point", Conv2d{.out_channels = 32, .kernel = {1, 1}, .groups = groups}, {32, 4, 4}}});
  check_close(run(*cpu, make_task(graph, 3, Mode::Train, 2)),
              run(*reference, make_task(graph, 3, Mode::Train, 2)));
}

TEST_CASE("convolutions of few channels agree with the reference for every width", "[cpu]") {
  const auto cpu = make_cpu_backend(), reference = make_reference_backend();
  const std::int64_t width = GENERATE(1, 3, 5, 8, 9, 10, 11, 12, 13, 14, 15, 27);
  INFO("width " << width);
  const Conv2d conv{.out_channels = 20, .kernel = {2, 6}};
  const Graph graph = make_graph(
      {5, 4, width + 5}, {{"conv", conv, {20, 3, width}}, {"relu", Relu{}, {20, 3, width}}});
  check_close(run(*cpu, make_task(graph, 3, Mode::Train, 2)),
              run(*reference, make_task(graph, 3, Mode::Train, 2)));
}

TEST_CASE("a flatten that others read too restores the plain order", "[cpu]") {
  const auto cpu = make_cpu_backend(), reference = make_reference_backend();
  const Graph graph =
      make_graph({2, 4, 4}, {{"conv", Conv2d{.out_channels = 5, .kernel = {3, 3}}, {5, 2, 2}},
                             {"flat", Flatten{}, {20}},
                             {"fc", Linear{.out_features = 20}, {20}},
                             {"sum", Add{}, {20}, {"flat", "fc"}}});
  check_close(run(*cpu, make_task(graph, 3, Mode::Train)),
              run(*reference, make_task(graph, 3, Mode::Train)));
}

TEST_CASE("memory is aligned and zeroed, and running out is a device error with the bytes",
          "[cpu]") {
  const auto stream = make_cpu_backend()->make_stream({});
  float* memory = static_cast<float*>(stream->allocate(100));
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
  for (int i = 0; i < 25; ++i) CHECK(memory[i] == 0);
  stream->release(memory);
  CHECK_THROWS_AS(stream->allocate(~std::size_t{0} / 2), DeviceError);
}
