// The model run position by position, with what it keeps of prefixes, against the whole model at
// once.
#include "decode/translation_pass.hpp"

#include <omp.h>

#include <numeric>

#include "backends.hpp"
#include "base/rng.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "machine/threads.hpp"
#include "small_translator.hpp"
#include "stage/stage.hpp"
#include "stage/stage_tensors.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

using Tokens = std::vector<std::int32_t>;

// The whole graph over [rows, S + T] tokens: [rows, T, V].
std::vector<float> whole(const TranslationPassInput& in, const NamedTensors& tensors,
                         const Lengths& lengths, const Tokens& tokens, int threads) {
  const KernelThreads here(threads);
  const LowerOptions options{.samples = in.rows, .precision = in.config.training.precision};
  LoweredModel model(in.graph, in.backend.lower(in.graph, options));
  model.add(in.backend, lengths, options);
  const OptimizerConfig optimizer;
  Stage stage({.model = model,
               .backend = in.backend,
               .optimizer = optimizer,
               .id = {0},
               .first = {0},
               .last = {static_cast<int>(in.graph.layers.size()) - 1}});
  PassCall call;
  call.size = {in.rows, Mode::Evaluate, lengths};
  stage.prepare(call.size);
  put_parameters(stage, tensors);
  stage.begin_program();
  call.input = tokens.data();
  stage.load_input(call);
  stage.forward(call);
  std::vector<float> output(
      static_cast<std::size_t>(in.rows * lengths.target * in.graph.input.vocabulary));
  stage.read_output(call, output.data());
  return output;
}

struct Sides {
  Tokens source, target;  // [rows, S], [rows, T]
  Lengths lengths;
};

Sides drawn(int rows, const Lengths& lengths, std::uint64_t seed) {
  Random random(seed, 1);
  Sides sides{{}, {}, lengths};
  for (int r = 0; r < rows; ++r) {
    const auto length =
        1 + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(lengths.source)));
    for (std::int64_t i = 0; i < lengths.source; ++i)
      sides.source.push_back(i < length ? 1 + static_cast<std::int32_t>(random.below(19)) : 0);
    for (std::int64_t i = 0; i < lengths.target; ++i)
      sides.target.push_back(1 + static_cast<std::int32_t>(random.below(19)));
  }
  return sides;
}

// The rows' first `count` tokens, then zeros up to `length`.
Tokens cut(const Tokens& rows, std::int64_t width, std::int64_t count, std::int64_t length) {
  Tokens out;
  for (std::size_t first = 0; first < rows.size(); first += static_cast<std::size_t>(width))
    for (std::int64_t i = 0; i < length; ++i)
      out.push_back(i < count ? rows[first + static_cast<std::size_t>(i)] : 0);
  return out;
}

Tokens column(const Tokens& rows, std::int64_t width, std::int64_t position) {
  Tokens out;
  for (auto i = static_cast<std::size_t>(position); i < rows.size();
       i += static_cast<std::size_t>(width))
    out.push_back(rows[i]);
  return out;
}

std::vector<int> stay(int rows) {
  std::vector<int> from(static_cast<std::size_t>(rows));
  std::iota(from.begin(), from.end(), 0);
  return from;
}

Tokens side_by_side(const Tokens& source, const Tokens& target, const Lengths& lengths) {
  Tokens both;
  for (auto s = source.begin(), t = target.begin(); s != source.end();
       s += lengths.source, t += lengths.target) {
    both.insert(both.end(), s, s + lengths.source);
    both.insert(both.end(), t, t + lengths.target);
  }
  return both;
}

}  // namespace

TEST_CASE("each position's outputs are those of the whole model at once", "[backends]") {
  const std::string backend_name = GENERATE(from_range(backend_names()));
  const std::string precision = GENERATE("f32", "bf16");
  if (precision == "bf16" && backend_name != "cpu") return;
  const char* const text =
      GENERATE(small_translator, small_recurrent_translator, small_wide_translator);
  const int threads = GENERATE(1, 2);
  const Graph graph = read_model_text(text, "small");
  INFO(graph.name << " " << backend_name << " " << precision << " " << threads);
  Config config = small_config(backend_name, precision);
  config.hardware.threads_per_stage = threads;
  const auto backend = make_backend(backend_name);
  const auto agree = [&](float x, float y) {
    // For another number of rows a device's library may add up products in another order.
    return backend_name == "cuda" ? x == Approx(y).margin(1e-5) : x == y;
  };
  const int beam = 2, rows = 3 * beam;
  TranslationPass pass({graph, *backend, config, rows});
  for (const std::uint64_t seed : {1, 2}) {  // other weights, the same kernels
    const NamedTensors tensors = initial_parameters(graph, seed);
    pass.put_parameters(tensors);
    for (const std::int64_t source : {12, 4, 8}) {
      Sides sides = drawn(rows, {source, 8}, seed + static_cast<std::uint64_t>(source));
      for (int r = 0; r < rows; ++r)  // `beam` rows share one source
        std::copy_n(sides.source.begin() + r / beam * beam * source, source,
                    sides.source.begin() + r * source);
      pass.read_sources(sides.source, source);
      Random random(seed, 7);
      for (std::int64_t position = 0; position < 8; ++position) {
        const std::int64_t target = position < 4 ? 4 : 8;
        const Lengths lengths{source, target};
        // At some positions rows continue with what others of their source had, as hypotheses do.
        std::vector<int> from = stay(rows);
        if (position % 3 > 0)
          for (int& row : from) row = row / beam * beam + static_cast<int>(random.below(beam));
        const Tokens before = sides.target;
        for (int r = 0; r < rows; ++r)
          std::copy_n(before.begin() + from[static_cast<std::size_t>(r)] * 8, position,
                      sides.target.begin() + r * 8);
        const std::vector<float> all =
            whole({graph, *backend, config, rows}, tensors, lengths,
                  side_by_side(sides.source, cut(sides.target, 8, position + 1, target), lengths),
                  pass.threads());
        const auto one = pass.next(column(sides.target, 8, position), from);
        INFO("source of " << source << ", position " << position);
        REQUIRE(one.size() == rows * 20);
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t v = 0; v < 20; ++v)
            REQUIRE(agree(
                one[r * 20 + v],
                all[(r * static_cast<std::size_t>(target) + static_cast<std::size_t>(position)) *
                        20 +
                    v]));
      }
    }
  }
}

TEST_CASE("targets begin again when sources are read", "[backends]") {
  const std::string backend_name = GENERATE(from_range(backend_names()));
  const Config config = small_config(backend_name);
  const Graph graph = read_model_text(small_translator, "small");
  const auto backend = make_backend(backend_name);
  TranslationPass pass({graph, *backend, config, 2});
  pass.put_parameters(initial_parameters(graph, 1));
  const Sides first = drawn(2, {8, 8}, 1), second = drawn(2, {4, 8}, 2);
  const auto outputs = [&](const Sides& sides, std::int64_t positions) {
    pass.read_sources(sides.source, sides.lengths.source);
    std::vector<float> all;
    for (std::int64_t position = 0; position < positions; ++position) {
      const auto said = pass.next(column(sides.target, 8, position), stay(2));
      all.insert(all.end(), said.begin(), said.end());
    }
    return all;
  };
  const auto once = outputs(first, 7);
  const auto other = outputs(second, 2);
  CHECK(std::vector(once.begin(), once.begin() + std::ssize(other)) != other);
  CHECK(outputs(first, 7) == once);
  CHECK(outputs(second, 2) == other);
}

TEST_CASE("a pass leaves the thread as many kernel threads as it had") {
  Config config = small_config("cpu");
  config.hardware.threads_per_stage = 2;
  const Graph graph = read_model_text(small_translator, "small");
  const auto backend = make_backend("cpu");
  const KernelThreads mine(1);
  TranslationPass pass({graph, *backend, config, 1});
  pass.put_parameters(initial_parameters(graph, 1));
  pass.read_sources(Tokens(4, 1), 4);
  (void)pass.next(Tokens{1}, stay(1));
  CHECK(omp_get_max_threads() == 1);
}
