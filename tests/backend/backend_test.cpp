// What every backend promises besides layers: its name, memory, sums, loading and storing.
#include <cstdint>
#include <string>

#include "backend/backend.hpp"
#include "base/error.hpp"
#include "cases.hpp"
#include "catch.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

std::string refusal(const char* name) {
  try {
    make_backend(name);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a backend that is not here is refused with what to write instead", "[backend]") {
  CHECK(refusal("cuda").find("\"cuda\" is not built") != std::string::npos);
  CHECK(refusal("cuda").find("backend = \"cpu\"") != std::string::npos);
  CHECK(refusal("gpu").find("no backend \"gpu\"") != std::string::npos);
}

TEST_CASE("memory is aligned, zeroed and refused with a number", "[backend]") {
  const std::string name = GENERATE(from_range(backend_names()));
  const auto backend = make_backend(name);
  CHECK(backend->name() == name);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{1} << 20}) {
    auto* memory = static_cast<unsigned char*>(backend->allocate(bytes));
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
    bool zeroed = true;
    for (std::size_t i = 0; i < bytes; ++i) zeroed = zeroed && memory[i] == 0;
    CHECK(zeroed);
    for (std::size_t i = 0; i < bytes; ++i) memory[i] = 0xAA;  // what the next one must not see
    backend->release(memory);
  }
  backend->release(nullptr);
  const std::size_t too_much = std::size_t{1} << 60;
  try {
    backend->allocate(too_much);
    FAIL("2^60 bytes were given out");
  } catch (const DeviceError& error) {
    CHECK(std::string(error.what()).find(std::to_string(too_much)) != std::string::npos);
  }
}

TEST_CASE("sum of squares is in f64", "[backend]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  const Floats values(3000001, 0.1f);
  CHECK(backend->sum_of_squares(values.data(), std::ssize(values)) ==
        Approx(3000001 * (double{0.1f} * 0.1f)).epsilon(1e-10));
  CHECK(backend->sum_of_squares(values.data(), 0) == 0);
}

TEST_CASE("an update gives the sum of squares of its gradient", "[backend]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  const std::int64_t elements = GENERATE(1, 63, 2049, 300001);
  Floats gradient(static_cast<std::size_t>(elements)), with = gradient, without = gradient;
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = 0.001f * static_cast<float>(i % 977) - 0.3f;
  double sum = -1;
  const auto step = [&](Floats& weights, double* squares) {
    backend->apply({.lr = 0.5}, {.elements = elements,
                                 .weights = weights.data(),
                                 .new_weights = weights.data(),
                                 .gradient = gradient.data(),
                                 .sum_of_squares = squares});
  };
  step(with, &sum);
  step(without, nullptr);
  CHECK(with == without);
  CHECK(sum == backend->sum_of_squares(gradient.data(), elements));  // bit for bit
}

TEST_CASE("plain to stored and back loses nothing", "[backend]") {
  const auto backend = make_backend(GENERATE(from_range(backend_names())));
  for (const Case& c : chain_cases()) {
    INFO(c.name);
    const auto lowering = backend->lower(c.graph, {.samples = c.samples});
    const Task task = make_task(c.graph, c.samples, c.mode);
    for (int l = 0; l < std::ssize(c.graph.layers); ++l) {
      const Layer& layer = c.graph.layers[static_cast<std::size_t>(l)];
      for (int p = 0; p < std::ssize(layer.parameters); ++p) {
        const auto& plain =
            task.weighting.parameters.at(layer.parameters[static_cast<std::size_t>(p)].name);
        void* stored = backend->allocate(lowering->parameter_bytes(LayerId{l}, p));
        Floats back(plain.size());
        lowering->load_parameter(LayerId{l}, p, plain.data(), stored);
        lowering->store_parameter(LayerId{l}, p, stored, back.data());
        CHECK(back == plain);
        backend->release(stored);
      }
    }
    void* stored = backend->allocate(lowering->value_bytes(ValueId{0}, c.samples));
    Floats back(task.microbatches[0].input.size());
    lowering->load_input(task.microbatches[0].input.data(), c.samples, stored);
    lowering->store_value(ValueId{0}, stored, c.samples, back.data());
    CHECK(back == task.microbatches[0].input);
    backend->release(stored);
  }
}
