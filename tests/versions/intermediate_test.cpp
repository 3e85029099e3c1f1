// The policy intermediate: the blends that i_timeprest reads.
#include <cmath>
#include <map>

#include "catch.hpp"
#include "program/liveness.hpp"
#include "schedules.hpp"
#include "versions/reads.hpp"
#include "versions/versions.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

// Updates between forward and backward of micro-batch j of a mini-batch, late in a long program.
std::vector<int> staleness(int p, int n, int stage) {
  const int k = 14, late = 9;
  std::vector<int> d;
  const auto program = make_program({"i_timeprest", p, n, k});
  std::map<int, int> forward;
  Version newest{0};
  for (const auto& i : program.workers[static_cast<std::size_t>(stage)]) {
    if (i.op == Op::Update) newest = i.weights.version;
    if (i.op == Op::Forward) forward[i.microbatch.value] = i.weights.version.value;
    if (i.op == Op::Backward && i.microbatch.value / n == late)
      d.push_back(newest.value - forward[i.microbatch.value]);
  }
  return d;
}

}  // namespace

TEST_CASE("intermediate: the degree of staleness of each micro-batch and stage") {
  using D = std::vector<int>;
  CHECK(staleness(2, 3, 0) == D{1, 1, 0});
  CHECK(staleness(2, 3, 1) == D{0, 0, 0});
  CHECK(staleness(3, 3, 0) == D{2, 1, 1});
  CHECK(staleness(3, 3, 1) == D{1, 1, 0});
  CHECK(staleness(4, 3, 0) == D{2, 2, 2});
  CHECK(staleness(4, 3, 1) == D{2, 1, 1});
  CHECK(staleness(4, 4, 0) == D{2, 2, 1, 1});
  CHECK(staleness(4, 4, 1) == D{1, 1, 1, 1});
  CHECK(staleness(4, 4, 2) == D{1, 1, 0, 0});
  CHECK(staleness(4, 2, 0) == D{3, 3});
  CHECK(staleness(4, 2, 2) == D{1, 1});
}

TEST_CASE("intermediate: max(0, ceil((2(W-1-s) - j) / N)), in general") {
  for (const auto& [p, n] : {std::pair{3, 2}, {5, 2}, {5, 4}, {6, 3}})
    for (int s = 0; s < p; ++s) {
      std::vector<int> expected;
      for (int j = 0; j < n; ++j)
        expected.push_back(std::max(0, (2 * (p - 1 - s) - j + n - 1) / n));
      CAPTURE(p, n, s);
      CHECK(staleness(p, n, s) == expected);
    }
}

TEST_CASE("intermediate: the share of stale weights falls with their age") {
  ReadContext at;
  at.at_backward = {5};
  const auto share = [&](MixRule::Share form, double lambda, int stale) {
    at.mix.share = form;
    at.mix.lambda = lambda;
    const auto read = versions::intermediate.backward(at, {{5 - stale}, AsStored{}});
    CHECK(read.version == Version{5});
    if (stale == 0) return read.how == WeightRead{}.how ? 1.0 : -1.0;
    CHECK(std::get<Blend>(read.how).other == Version{5 - stale});
    return std::get<Blend>(read.how).other_share;
  };
  CHECK(share(MixRule::Share::Exp, 1, 1) == Approx(0.36788).epsilon(1e-4));
  CHECK(share(MixRule::Share::Exp, 1, 2) == Approx(0.13534).epsilon(1e-4));
  CHECK(share(MixRule::Share::Exp, 0, 3) == 1);
  CHECK(share(MixRule::Share::Inverse, 1, 3) == 0.25);
  CHECK(share(MixRule::Share::PowerOfTwo, 1, 3) == 0.125);
  CHECK(share(MixRule::Share::Constant, 1, 3) == Approx(0.36788).epsilon(1e-4));
  CHECK(share(MixRule::Share::Exp, 1, 0) == 1);
}

TEST_CASE("intermediate without a stash sets back along delta and keeps one version") {
  const auto program = make_program({.schedule = "i_timeprest",
                                     .stages = 3,
                                     .microbatches = 2,
                                     .minibatches = 8,
                                     .mix = {.stash = false}});
  CHECK(peak_weight_versions(program) == std::vector{1, 1, 1});
  ReadContext at;
  at.at_backward = {5};
  at.mix.stash = false;
  CHECK(versions::intermediate.backward(at, {{3}, AsStored{}}) ==
        WeightRead{{5}, Extrapolate{2 * std::exp(-2.0)}});
}

TEST_CASE("intermediate: copies held are 1 + ceil(2(W-1-s) / N)") {
  for (const auto& [p, n] : {std::pair{2, 3}, {3, 2}, {4, 3}, {4, 4}, {5, 2}}) {
    const auto held = peak_weight_versions(make_program({"i_timeprest", p, n, 14}));
    for (int s = 0; s < p; ++s) {
      CAPTURE(p, n, s);
      CHECK(held[static_cast<std::size_t>(s)] == 1 + (2 * (p - 1 - s) + n - 1) / n);
    }
  }
}
