// What every backend promises besides layers: its name, memory, sums, loading and storing.
#include <cstdint>
#include <string>

#include "backend/backend.hpp"
#include "base/error.hpp"
#include "cases.hpp"
#include "catch.hpp"
#include "device_memory.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

std::string refusal(const char* name) {
  try {
    make_backend(name);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("an unknown backend is refused with what to write instead", "[backend]") {
  CHECK(refusal("gpu").find("no backend \"gpu\"") != std::string::npos);
}

TEST_CASE("cuda is available, or one line says what is missing and what to write", "[backend]") {
  const std::string missing = refusal("cuda");
  if (missing.empty()) return;
  CHECK(missing.find("backend = \"cpu\"") != std::string::npos);
  CHECK(missing.find('\n') == std::string::npos);
}

TEST_CASE("memory is aligned, zeroed and refused with a number", "[backend][backends]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto backend = make_backend(name);
  CHECK(backend->name() == name);
  const auto stream = backend->make_stream({});
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{1} << 20}) {
    void* const memory = stream->allocate(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
    std::vector<unsigned char> seen(bytes, 1);
    stream->read(seen.data(), memory, bytes);
    CHECK(seen == std::vector<unsigned char>(bytes, 0));
    seen.assign(bytes, 0xAA);  // what the next allocation must not see
    stream->write(memory, seen.data(), bytes);
    stream->finish();
    stream->release(memory);
  }
  stream->release(nullptr);
  const std::size_t too_much = std::size_t{1} << 60;
  try {
    stream->allocate(too_much);
    FAIL("2^60 bytes were given out");
  } catch (const DeviceError& error) {
    CHECK(std::string(error.what()).find(std::to_string(too_much)) != std::string::npos);
  }
}

TEST_CASE("sum of squares is in f64", "[backend][backends]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  const Floats values(3000001, 0.1f);
  DeviceMemory device(*backend);
  const float* const memory = device.put(values);
  auto* const sums = device.results<double>(2);
  sums[1] = -1;
  device.stream().sum_of_squares(memory, std::ssize(values), &sums[0]);
  device.stream().sum_of_squares(memory, 0, &sums[1]);
  device.stream().finish();
  CHECK(sums[0] == Approx(3000001 * (double{0.1f} * 0.1f)).epsilon(1e-10));
  CHECK(sums[1] == 0);
}

TEST_CASE("an update gives the sum of squares of its gradient", "[backend][backends]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  const std::int64_t elements = GENERATE(1, 63, 2049, 300001);
  Floats gradient(static_cast<std::size_t>(elements)), with = gradient, without = gradient;
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = 0.001f * static_cast<float>(i % 977) - 0.3f;
  DeviceMemory device(*backend);
  const float* const slope = device.put(gradient);
  auto* const sums = device.results<double>(2);
  const auto step = [&](Floats& weights, double* squares) {
    float* const memory = device.put(weights);
    device.stream().apply({.lr = 0.5}, {.elements = elements,
                                        .weights = memory,
                                        .new_weights = memory,
                                        .gradient = slope,
                                        .sum_of_squares = squares});
    weights = device.get(memory, weights.size());
  };
  step(with, &sums[0]);
  step(without, nullptr);
  CHECK(with == without);
  device.stream().sum_of_squares(slope, elements, &sums[1]);
  device.stream().finish();
  CHECK(sums[0] == sums[1]);  // bit for bit
}

TEST_CASE("converting plain values to stored ones and back loses nothing", "[backend][backends]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  for (const Case& c : chain_cases()) {
    INFO(c.name);
    const auto lowering = backend->lower(c.graph, {.samples = c.samples});
    DeviceMemory device(*backend);
    Stream& stream = device.stream();
    const Task task = make_task(c.graph, c.samples, c.mode);
    for (int l = 0; l < std::ssize(c.graph.layers); ++l) {
      const Layer& layer = c.graph.layers[static_cast<std::size_t>(l)];
      for (int p = 0; p < std::ssize(layer.parameters); ++p) {
        const auto& plain =
            task.weighting.parameters.at(layer.parameters[static_cast<std::size_t>(p)].name);
        void* stored = device.take(lowering->parameter_bytes(LayerId{l}, p));
        Floats back(plain.size());
        lowering->load_parameter(stream, LayerId{l}, p, plain.data(), stored);
        lowering->store_parameter(stream, LayerId{l}, p, stored, back.data());
        CHECK(back == plain);
      }
    }
    if (c.graph.input.vocabulary > 0) continue;
    void* stored = device.take(lowering->value_bytes(ValueId{0}, c.samples));
    Floats back(task.microbatches[0].input.size());
    lowering->load_input(stream, task.microbatches[0].input.data(), c.samples, stored);
    lowering->store_value(stream, ValueId{0}, stored, c.samples, back.data());
    CHECK(back == task.microbatches[0].input);
  }
}
