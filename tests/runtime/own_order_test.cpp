// Programs of the user's own, run: whatever the order of loads, sends and receives, the numbers are
// those of the same program in the usual order.
#include <random>

#include "catch.hpp"
#include "compile/segment_program.hpp"
#include "order_csv.hpp"
#include "program/check.hpp"
#include "program/text.hpp"
#include "schedules.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

Trained run(const std::string& text, const std::string& workers) {
  const Program program = parse_program(text);
  Config config = make_config({.stages = static_cast<int>(program.workers.size()),
                               .microbatches = program.microbatches,
                               .workers = workers});
  return train({.model = mlp_model,
                .config = config,
                .steps = 2 * program.minibatches,
                .program = &program});
}

// The program as a file of the user's own.
Config as_own_order(Config config, const Program& program) {
  config.pipeline.schedule.clear();
  config.pipeline.order_csv = csv_of(program);
  return config;
}

const char* const usual =
    "program stages=2 microbatches=4 minibatches=1\n"
    "0: 0L0 0F0 0SA0 0L1 0F1 0SA1 0L2 0F2 0SA2 0L3 0F3 0SA3 0RG0 0B0 0RG1 0B1 0RG2 0B2 0RG3 0B3 "
    "0U3@1\n"
    "1: 1RA0 1F0 1B0 1SG0 1RA1 1F1 1B1 1SG1 1RA2 1F2 1B2 1SG2 1RA3 1F3 1B3 1SG3 1U3@1\n";

}  // namespace

TEST_CASE("sends and receives may be apart from the instructions that they belong to",
          "[own order]") {
  const Trained plain = run(usual, "threads");
  const std::string head = "program stages=2 microbatches=4 minibatches=1\n";
  const std::string first =
      "0: 0L0 0F0 0SA0 0L1 0F1 0SA1 0L2 0F2 0SA2 0L3 0F3 0SA3 0RG0 0B0 0RG1 0B1 0RG2 0B2 0RG3 0B3 "
      "0U3@1\n";
  const std::string early_loads =
      "0: 0L0 0L1 0L2 0L3 0F0 0SA0 0F1 0SA1 0F2 0SA2 0F3 0SA3 0RG0 0B0 0RG1 0B1 0RG2 0B2 0RG3 0B3 "
      "0U3@1\n";
  const std::string early_receives =
      "0: 0L0 0F0 0SA0 0L1 0F1 0SA1 0L2 0F2 0SA2 0L3 0F3 0SA3 0RG0 0RG1 0RG2 0RG3 0B0 0B1 0B2 0B3 "
      "0U3@1\n";
  const std::string last =
      "1: 1RA0 1F0 1B0 1SG0 1RA1 1F1 1B1 1SG1 1RA2 1F2 1B2 1SG2 1RA3 1F3 1B3 1SG3 1U3@1\n";
  const std::string late_sends =
      "1: 1RA0 1F0 1B0 1RA1 1F1 1B1 1RA2 1F2 1B2 1RA3 1F3 1B3 1SG0 1SG1 1SG2 1SG3 1U3@1\n";
  const std::string behind_the_update =
      "1: 1RA0 1F0 1B0 1SG0 1RA1 1F1 1B1 1SG1 1RA2 1F2 1B2 1SG2 1RA3 1F3 1B3 1U3@1 1SG3\n";
  const std::string received_first =
      "1: 1RA0 1RA1 1RA2 1RA3 1F0 1B0 1SG0 1F1 1B1 1SG1 1F2 1B2 1SG2 1F3 1B3 1SG3 1U3@1\n";
  for (const std::string& text : {head + early_loads + last, head + early_receives + last,
                                  head + first + late_sends, head + early_receives + late_sends,
                                  head + first + behind_the_update, head + first + received_first})
    for (const std::string workers : {"threads", "inline"}) {
      INFO(text << workers);
      const Trained other = run(text, workers);
      CHECK(other.losses == plain.losses);
      CHECK(same_bits(other.parameters, plain.parameters));
    }
}

TEST_CASE("several mini-batches ahead, on two copies of the first stage", "[own order]") {
  // 12 mini-batches of 2 forward before the first backward: more than a loader usually holds.
  std::string text = "program stages=2 microbatches=2 minibatches=12 placement=0+1,2\n";
  for (const int copy : {0, 1}) {
    text += std::to_string(copy) + ":";
    for (int m = copy; m < 24; m += 2)
      text += " 0L" + std::to_string(m) + " 0F" + std::to_string(m) + " 0SA" + std::to_string(m);
    for (int m = copy, k = 1; m < 24; m += 2, ++k) {
      const std::string n = std::to_string(m), last = std::to_string(2 * k - 1);
      text += " 0RG" + n + " 0B" + n + " 0Y" + last + " 0U" + last + "@" + std::to_string(k);
    }
    text += "\n";
  }
  text += "2:";
  for (int m = 0; m < 24; ++m) {
    const std::string n = std::to_string(m), at = m < 2 ? "" : "@" + std::to_string(m / 2);
    text += " 1RA" + n + " 1F" + n + at + " 1B" + n + at + " 1SG" + n;
    if (m % 2 == 1) text += " 1Y" + n + " 1U" + n + "@" + std::to_string(m / 2 + 1);
  }
  const Trained threads = run(text, "threads"), in_turn = run(text, "inline");
  CHECK(threads.losses == in_turn.losses);
  CHECK(same_bits(threads.parameters, in_turn.parameters));
}

TEST_CASE("a rearranged program is refused, or runs alike on threads and inline", "[own order]") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return random() % n; };
  int ran = 0;
  for (int n = 0; n < 200; ++n) {
    const char* const names[] = {"gpipe",     "1f1b",          "zb_h1",     "chimera",
                                 "pipedream", "data_parallel", "timeprest", "i_timeprest"};
    Program program = make_program({.schedule = names[below(8)],
                                    .stages = 2,
                                    .microbatches = 4,
                                    .minibatches = 1 + static_cast<int>(below(2))});
    for (std::size_t moves = 1 + below(3); moves > 0; --moves) {
      auto& list = program.workers[below(2)];
      const std::size_t from = below(list.size()),
                        to = std::min(list.size() - 1,
                                      from + below(7) - std::min<std::size_t>(from, 3));
      const Instruction moved = list[from];
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(from));
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(to), moved);
    }
    if (!check(program).empty()) continue;
    ++ran;
    const std::string text = to_text(program);
    INFO(text);
    const Trained threads = run(text, "threads"), in_turn = run(text, "inline");
    CHECK(threads.losses == in_turn.losses);
    CHECK(same_bits(threads.parameters, in_turn.parameters));
  }
  CHECK(ran > 5);
}

TEST_CASE("fused updates give the bits of updates apart, by a norm and of tied parameters too",
          "[own order]") {
  const std::string head = "program stages=2 microbatches=2 minibatches=1\n",
                    first = "0: 0L0 0F0 0SA0 0L1 0F1 0SA1 0RG0 0B0 0RG1 ",
                    last = "\n1: 1RA0 1F0 1B0 1SG0 1RA1 1F1 1BH1 1SG1 ";
  const Program fused = parse_program(head + first + "0BU1" + last + "1TU1\n"),
                apart = parse_program(head + first + "0B1 0U1@1" + last + "1BT1 1U1@1\n");
  const std::string model = GENERATE(mlp_model, tied_model);
  const std::string kind = GENERATE("sgd", "adam");
  const std::string norm = GENERATE("unused", "max", "skip");
  CAPTURE(model, kind, norm);
  Config config = make_config({.stages = 2, .microbatches = 2});
  config.optimizer.kind = word_named<OptimizerKind>(kind).value();
  if (norm == "max") config.optimizer.max_norm = 0.05;
  if (norm == "skip") config.training.on_nonfinite = OnNonfinite::Skip;
  const Trained a = train({.model = model, .config = as_own_order(config, fused)}),
                b = train({.model = model, .config = as_own_order(config, apart)});
  CHECK(a.losses == b.losses);
  CHECK(same_bits(a.parameters, b.parameters));
}

// Cut between a relu and the layer that reads it. The relu's own stage has its mask by the weights
// of the backward, its reader has its input by those of the forward.
TEST_CASE("an order that recomputes is lowered as if the config asked for it", "[own order]") {
  constexpr int steps = 12;
  Config config = make_config(
      {.stages = 3, .microbatches = 1, .schedule = "pipelined_backpropagation", .backend = "cpu"});
  config.optimizer.lr = 0.2;
  config.pipeline.gradient_rule = GradientRule::Recompute;
  const Program program = training_program(config, 3, steps).program;
  REQUIRE(program.minibatches == steps);
  const Trained asked = train({.model = mlp_model, .config = config, .steps = steps});
  config.pipeline.gradient_rule = GradientRule::Saved;
  const Trained written =
      train({.model = mlp_model, .config = as_own_order(config, program), .steps = steps});
  CHECK(asked.losses == written.losses);
  CHECK(same_bits(asked.parameters, written.parameters));
}
