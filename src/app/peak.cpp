#include "app/peak.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "backend/backend.hpp"
#include "runtime/memory.hpp"
#include "runtime/threads.hpp"

namespace pipetrain {
namespace {

// A linear layer of so many features on as many samples.
Graph matmul(std::int64_t size) {
  Graph graph;
  graph.name = "matmul";
  graph.input = {{size}};
  Layer layer;
  layer.name = "matmul";
  layer.spec = Linear{size, false};
  layer.inputs = {{0}};
  layer.output = {{size}};
  layer.parameters = {{"matmul.weight", {{size, size}}, Constant{0}}};
  layer.flops = 2 * size * size;
  graph.layers = {layer};
  graph.loss = Loss::Mse;
  return graph;
}

}  // namespace

double measured_peak_gflops(std::string_view name) {
  const bool slow = name == "reference";
  const int size = slow ? 128 : 1536;
  set_kernel_threads(available_cores());
  const std::unique_ptr<Backend> backend = make_backend(name);
  const Graph graph = matmul(size);
  const auto lowering = backend->lower(graph, {.samples = size});
  const auto kernel = lowering->make_kernel({0}, {.samples = size, .mode = Mode::Evaluate});
  StageMemory memory(*backend);
  const auto take = [&](std::size_t bytes) { return memory.take(Use::Workspace, bytes); };
  const void* const input = take(lowering->value_bytes({0}, size));
  void* const output = take(lowering->value_bytes({1}, size));
  const void* const weight = take(lowering->parameter_bytes({0}, 0));
  void* const packed = take(lowering->packed_bytes({0}, Pass::Forward));
  if (packed) lowering->pack({0}, Pass::Forward, {&weight, 1}, packed);
  const ForwardArguments arguments{.inputs = {&input, 1},
                                   .output = output,
                                   .weights = {{&weight, 1}, packed},
                                   .buffers = {},
                                   .saved = take(kernel->traits().saved_bytes),
                                   .scratch = take(kernel->traits().scratch_bytes),
                                   .random = {}};
  double best = 1e30;
  for (int run = 0; run < (slow ? 3 : 30); ++run) {
    const auto start = std::chrono::steady_clock::now();
    kernel->forward(arguments);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::min(best, seconds.count());
  }
  return 2.0 * size * size * size / best * 1e-9;
}

}  // namespace pipetrain
