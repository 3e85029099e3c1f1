// The comparison of Qi et al., "Zero Bubble Pipeline Parallelism" (arXiv 2401.10241, section 2.3):
// how long the workers wait, and what they keep, under 1f1b and the schedules with halves.
#include <algorithm>

#include "catch.hpp"
#include "program/simulate.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

std::vector<double> idle_of(const std::string& name, int p, int n) {
  return simulate(make_program({name, p, n}), {.all = {1, 1, 1, 0}}).idle;
}

// The most that a worker keeps: `input` for a micro-batch from its forward to the input half of
// its backward, `weight` from there to the weight half.
int peak_memory(const std::vector<Instruction>& list, int input, int weight) {
  int kept = 0, peak = 0;
  for (const auto& i : list) {
    if (i.op == Op::Forward) kept += input;
    peak = std::max(peak, kept);
    if (gives_input_gradient(i.op)) kept -= input;
    if (i.op == Op::BackwardInput) kept += weight;
    if (i.op == Op::BackwardWeight) kept -= weight;
    peak = std::max(peak, kept);
  }
  return peak;
}

}  // namespace

TEST_CASE("idle between first and last instruction: 3(P-1) under 1f1b, P-1 under zb_h1, then 0") {
  for (int p = 1; p <= 8; ++p)
    for (int n : {2 * p, 2 * p + 1, 3 * p + 2}) {
      CAPTURE(p, n);
      const std::vector<double> none(static_cast<std::size_t>(p), 0.0);
      const auto plain = idle_of("1f1b", p, n), h1 = idle_of("zb_h1", p, n);
      for (int s = 0; s < p; ++s) {
        CHECK(plain[static_cast<std::size_t>(s)] == 3 * (p - 1 - s));
        CHECK(h1[static_cast<std::size_t>(s)] == p - 1 - s);
      }
      CHECK(idle_of("zb_h2", p, n) == none);
      CHECK(idle_of("zb_v", p, n) == none);
    }
}

// Stage s of the table, from 0: 1f1b (P-s) I, zb_h1 (P-s) I + s W, zb_h2 (2(P-s)-1) I + 2s W, where
// a micro-batch takes I until its input half and W < I from there to its weight half.
TEST_CASE("memory of each stage: the table's terms, with halves that keep less than the whole") {
  for (const auto& [input, weight] : {std::pair{34, 32}, {3, 2}, {5, 1}})
    for (int p = 1; p <= 8; ++p)
      for (int n : {2 * p, 3 * p + 2}) {
        const auto plain = make_program({"1f1b", p, n}), h1 = make_program({"zb_h1", p, n}),
                   h2 = make_program({"zb_h2", p, n}), v = make_program({"zb_v", p, n});
        for (int s = 0; s < p; ++s) {
          const auto at = static_cast<std::size_t>(s);
          CAPTURE(p, n, s, input, weight);
          CHECK(peak_memory(plain.workers[at], input, weight) == (p - s) * input);
          CHECK(peak_memory(h1.workers[at], input, weight) == (p - s) * input + s * weight);
          CHECK(peak_memory(h2.workers[at], input, weight) ==
                (2 * (p - s) - 1) * input + 2 * s * weight);
          // With two stages on a worker, each is half of a stage of the other schedules.
          CHECK(peak_memory(v.workers[at], input, weight) == 2 * p * input);
        }
      }
}
