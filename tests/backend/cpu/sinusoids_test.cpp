// The table of sinusoidal positions: one for all kernels of a width, with the same bits however
// long their sequences are.
#include "backend/cpu/sinusoids.hpp"

#include <cmath>

#include "backend/cpu/cpu_backend.hpp"
#include "backend/cpu/kernel.hpp"
#include "backend/harness.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

float sinusoid(std::int64_t t, std::int64_t c, std::int64_t width) {
  const double exponent = static_cast<double>(c / 2 * 2) / static_cast<double>(width);
  const double angle = static_cast<double>(t) / std::pow(10000.0, exponent);
  return static_cast<float>(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
}

Graph positions_of(std::int64_t length, std::int64_t width) {
  return make_graph({length, width}, {{"positions", SinusoidalPositions{}, {length, width}}});
}

std::unique_ptr<Kernel> positions_kernel(const Graph& graph, cpu::Sinusoids& sinusoids) {
  cpu::Problem problem;
  problem.layer = &graph.layers[0];
  problem.inputs = {cpu::plain_layout(graph.input)};
  problem.output = cpu::plain_layout(graph.input);
  problem.sinusoids = &sinusoids;
  return cpu::make_kernel(SinusoidalPositions{}, std::move(problem));
}

}  // namespace

TEST_CASE("kernels of sequences of any lengths share the rows of a width", "[cpu]") {
  const Graph few = positions_of(3, 10), many = positions_of(200, 10), wide = positions_of(3, 12);
  cpu::Sinusoids sinusoids;
  std::vector<std::unique_ptr<Kernel>> kernels;
  const auto holders = [&] { return sinusoids.table(1, 10).parts.at(0).use_count(); };
  const auto alone = holders();
  for (const Graph* graph : {&few, &many, &few, &wide})
    kernels.push_back(positions_kernel(*graph, sinusoids));
  CHECK(holders() == alone + 3);
  kernels.clear();
  CHECK(holders() == alone);
}

TEST_CASE("rows of sinusoids stay where they are as their table grows", "[cpu]") {
  cpu::Sinusoids sinusoids;
  const cpu::SinusoidTable before = sinusoids.table(65, 7), after = sinusoids.table(1000, 7);
  for (const std::int64_t t : {0, 63, 64}) {
    CAPTURE(t);
    CHECK(before.row(t) == after.row(t));
  }
  CHECK(sinusoids.table(65, 8).row(0) != before.row(0));
}

// The input is zeros, so that the output is the table.
TEST_CASE("sinusoids have the bits of their formula for every length", "[cpu]") {
  const auto backend = make_cpu_backend();
  const std::int64_t width = GENERATE(1, 7, 10);
  for (const std::int64_t length : {9, 150, 64, 65, 1}) {
    CAPTURE(width, length);
    Task task = make_task(positions_of(length, width), 2, Mode::Train);
    task.microbatches[0].input.assign(static_cast<std::size_t>(2 * length * width), 0.0f);
    Floats expected;
    for (std::int64_t i = 0; i < 2 * length * width; ++i)
      expected.push_back(sinusoid(i / width % length, i % width, width));
    CHECK(run(*backend, task).microbatches[0].output == expected);
  }
}
