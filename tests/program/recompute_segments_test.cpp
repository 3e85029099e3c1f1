// Segments of stages that recompute together: what their programs look like and hold.
#include "program/recompute_segments.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "catch.hpp"
#include "program/check.hpp"
#include "program/fold.hpp"
#include "program/liveness.hpp"
#include "program/text.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

ScheduleRequest request_of(const std::string& schedule, int stages, int microbatches,
                           int minibatches, int segment_stages) {
  return {.schedule = schedule,
          .stages = stages,
          .microbatches = microbatches,
          .minibatches = minibatches,
          .warmup = Warmup::Full,
          .segment_stages = segment_stages};
}

// F, B and R of a worker with their micro-batches, as in "F0 F1 R0".
std::string computed(const std::vector<Instruction>& list) {
  std::string text;
  for (const Instruction& i : list)
    if (computes(i.op))
      text += fmt::format("{}{}{}", text.empty() ? "" : " ", letters(i.op), i.microbatch.value);
  return text;
}

int sum_of(const std::vector<int>& values) {
  int sum = 0;
  for (const int value : values) sum += value;
  return sum;
}

}  // namespace

TEST_CASE("segments: the lists of the header's picture") {
  const Program program = make_program(request_of("pipelined_backpropagation", 2, 1, 6, 2));
  CHECK(computed(program.workers[WorkerId{0}]) ==
        "F0 F1 R0 F2 R1 F3 R2 B0 F4 R3 B1 F5 R4 B2 R5 B3 B4 B5");
  CHECK(computed(program.workers[WorkerId{1}]) ==
        "F0 F1 R0 B0 F2 R1 B1 F3 R2 B2 F4 R3 B3 F5 R4 B4 R5 B5");
  CHECK_THAT(to_text(program), Contains(" 0R0 0SR0 ") && Contains(" 1RR1 1R1@1 "));
}

TEST_CASE("segments: each stage holds what the paper counts") {
  for (const int stages : {4, 6, 9})
    for (const int length : {1, 2, 3, stages})
      for (const int n : {1, 2, 5}) {
        const int minibatches = 2 * stages + 4;
        const Program program =
            make_program(request_of("pipelined_backpropagation", stages, n, minibatches, length));
        const std::vector<int> slots = peak_slots(program);
        for (int s = 0; s < stages; ++s) {
          const int last = std::min(s / length * length + length, stages) - 1;
          CAPTURE(stages, length, n, s);
          CHECK(slots[static_cast<std::size_t>(s)] == 2 * (last - s) + 1);
          CHECK(receives_again(program, {s}) == (s % length != 0));
        }
      }
}

TEST_CASE("segments: P^2/S inputs and P S activations, of P^2") {
  for (const int stages : {16, 36}) {
    const int length = stages == 16 ? 4 : 6;
    const Program kept =
        make_program(request_of("pipelined_backpropagation", stages, 1, 3 * stages, 0));
    const Program again =
        make_program(request_of("pipelined_backpropagation", stages, 1, 3 * stages, length));
    int inputs = 0;
    const std::vector<int> open = peak_inputs(again);
    for (int s = 0; s < stages; s += length) inputs += open[static_cast<std::size_t>(s)];
    CHECK(sum_of(peak_activations(kept)) == stages * stages + stages);
    CHECK(sum_of(peak_slots(again)) == stages * length);
    CHECK(inputs == stages * stages / length + stages);
  }
}

TEST_CASE("segments: PipeMare's recomputation is set back by what its backward has not yet moved") {
  ScheduleRequest request = request_of("pipemare", 4, 2, 12, 2);
  const Program program = make_program(request);
  // Stage 0: delay 7/2 updates, 2 micro-batches ahead, which is one update.
  const auto& list = program.workers[WorkerId{0}];
  const auto is = [](Op op, int m) {
    return [op, m](const Instruction& i) { return i.op == op && i.microbatch.value == m; };
  };
  const auto recompute = std::ranges::find_if(list, is(Op::Recompute, 16)),
             backward = std::ranges::find_if(list, is(Op::Backward, 16));
  REQUIRE(recompute != list.end());
  CHECK(backward->weights == WeightRead{{8}, Extrapolate{3.5}});
  CHECK(recompute->weights == WeightRead{{7}, Extrapolate{2.5}});
}

TEST_CASE("segments: programs of any length are sound, and long ones fold") {
  for (const std::string schedule :
       {"pipedream", "pipedream_2bw", "pipemare", "pipelined_backpropagation"})
    for (const int stages : {1, 2, 5})
      for (const int minibatches : {1, 2, 3, 9}) {
        const int n = schedule == "pipedream_2bw" ? 2 * stages : 3;
        CAPTURE(schedule, stages, minibatches);
        CHECK(check(make_program(request_of(schedule, stages, n, minibatches, 2))).empty());
      }
  const ScheduleRequest few = request_of("pipemare", 5, 2, 14, 2);
  ScheduleRequest more = few;
  more.minibatches = 15;
  const auto folded = fold(make_program(few), make_program(more));
  REQUIRE(folded);
  more.minibatches = 20;
  CHECK(unfold(*folded, 6) == make_program(more));
}

TEST_CASE("segments: a recomputed activation is not taken for the forward's") {
  const std::string good =
      to_text(make_program(request_of("pipelined_backpropagation", 2, 1, 3, 2)));
  const auto refused = [&](const std::string& old, const std::string& fresh) {
    std::string text = good;
    const auto at = text.find(old);
    REQUIRE(at != text.npos);
    const auto found = check(parse_program(text.replace(at, old.size(), fresh)));
    return found.empty() ? "nothing" : found[0].rule + ": " + found[0].message;
  };
  CHECK(refused("0SR0", "0SR0") == "nothing");
  CHECK_THAT(refused("0R0 0SR0", "0SR0 0R0"), Contains("input: 0SR0 comes before 0R0"));
  CHECK_THAT(refused("1RR0 ", ""), Contains("input: 1RR0 (receive recomputed activation)"));
  CHECK_THAT(refused("0SR0 ", ""), Contains("order: 1RR0 is sent"));
}
