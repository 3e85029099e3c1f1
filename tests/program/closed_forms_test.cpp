// The formulas that the papers and pages of docs/methods/ give for makespan, activations in flight
// and weight versions, each over its whole domain: random sizes and times. P workers, N
// micro-batches, a forward takes F, a backward B = I + W, on each stage if a worker has several;
// transfers take nothing unless said.
#include <algorithm>
#include <random>

#include "catch.hpp"
#include "program/simulate.hpp"
#include "schedules.hpp"

using namespace pipetrain;

namespace {

struct Draw {
  std::mt19937 random{std::random_device{}()};
  int size(int least, int most) { return std::uniform_int_distribution(least, most)(random); }
  double time(double least = 0.1, double most = 5) {
    return std::uniform_real_distribution(least, most)(random);
  }
};

// Calls `visit(draw)` with a fresh seed each time; a failure prints the seed.
template <class Visit>
void each_draw(Visit visit) {
  for (int n = 0; n < 40; ++n) {
    const auto seed = std::random_device{}();
    CAPTURE(seed);
    visit(Draw{std::mt19937{seed}});
  }
}

Timeline line_of(const ScheduleRequest& request, const StageCosts& times) {
  return simulate(make_program(request), {.all = times});
}

// The largest number of micro-batches (times stages) in flight on each of P workers.
template <class Peak>
std::vector<int> peaks(int p, Peak peak) {
  std::vector<int> list;
  for (int s = 0; s < p; ++s) list.push_back(peak(s));
  return list;
}

int warmup_of(Warmup warmup, int behind) {
  if (warmup == Warmup::OneFOneB) return behind;
  return warmup == Warmup::Double ? 2 * behind : 2 * behind + 1;
}

// Updates between a stage's forward and its backward, the mean over mini-batches `from` and on.
double mean_staleness(const Program& program, int stage, int from) {
  int newest = 0, total = 0, counted = 0;
  for (const auto& i : program.workers[static_cast<std::size_t>(stage)]) {
    if (i.op == Op::Update) newest = i.weights.version.value;
    if (i.op != Op::Backward || program.minibatch_of(i.microbatch).value < from) continue;
    total += newest - i.weights.version.value;
    ++counted;
  }
  return double(total) / counted;
}

int divided_up(int a, int b) { return (a + b - 1) / b; }

}  // namespace

TEST_CASE("gpipe, and 1f1b with every warm-up: (N+P-1)(F+B)") {
  each_draw([](Draw draw) {
    const int p = draw.size(1, 8), n = draw.size(1, 24);
    const StageCosts t{draw.time(), draw.time(), draw.time(), 0};
    const double makespan = (n + p - 1) * (t.forward + t.backward_input + t.backward_weight);
    CAPTURE(p, n);
    const auto gpipe = line_of({"gpipe", p, n}, t);
    CHECK(gpipe.makespan == Approx(makespan));
    CHECK(gpipe.peak_activations == peaks(p, [&](int) { return n; }));
    for (const Warmup warmup : {Warmup::OneFOneB, Warmup::Double, Warmup::Full}) {
      const auto line =
          line_of({.schedule = "1f1b", .stages = p, .microbatches = n, .warmup = warmup}, t);
      CAPTURE(warmup);
      CHECK(line.makespan == Approx(makespan));
      CHECK(line.bubble == Approx(double(p - 1) / (n + p - 1)).margin(1e-12));
      CHECK(line.peak_activations ==
            peaks(p, [&](int s) { return std::min(n, warmup_of(warmup, p - 1 - s) + 1); }));
    }
  });
}

TEST_CASE("1f1b with the double warm-up hides transfers: 2(P-1) of them, however many N") {
  each_draw([](Draw draw) {
    const int p = draw.size(1, 8), n = draw.size(1, 24);
    const double f = draw.time(), b = draw.time(), transfer = draw.time(0, (f + b) / 2);
    CAPTURE(p, n, f, b, transfer);
    const auto line =
        line_of({.schedule = "1f1b", .stages = p, .microbatches = n, .warmup = Warmup::Double},
                {f, b, 0, transfer});
    CHECK(line.makespan == Approx((n + p - 1) * (f + b) + 2 * (p - 1) * transfer));
  });
}

TEST_CASE("zb_h1: N(F+I+W) + (P-1)(F+I-W) + max(0, P-N) W, where W <= min(F, I)") {
  each_draw([](Draw draw) {
    const int p = draw.size(1, 8), n = draw.size(1, 24);
    const double f = draw.time(), i = draw.time(), w = draw.time(0, std::min(f, i));
    CAPTURE(p, n, f, i, w);
    const auto line = line_of({"zb_h1", p, n}, {f, i, w, 0});
    CHECK(line.makespan ==
          Approx(n * (f + i + w) + (p - 1) * (f + i - w) + std::max(0, p - n) * w));
    CHECK(line.peak_activations == peaks(p, [&](int s) { return std::min(n, p - s); }));
  });
}

TEST_CASE("zb_h2: N(F+I+W) + (P-1)F and no wait in between, where I <= F, F+I <= 2W, N >= 2P-1") {
  each_draw([](Draw draw) {
    const int p = draw.size(1, 8), n = draw.size(2 * p - 1, 2 * p + 20);
    const double f = draw.time(), i = draw.time(0, f), w = draw.time((f + i) / 2, 6);
    CAPTURE(p, n, f, i, w);
    const auto line = line_of({"zb_h2", p, n}, {f, i, w, 0});
    CHECK(line.makespan == Approx(n * (f + i + w) + (p - 1) * f));
    for (double idle : line.idle) CHECK(std::abs(idle) < 1e-9);
  });
  each_draw([](Draw draw) {
    const int p = draw.size(1, 8), n = draw.size(1, 24);
    CAPTURE(p, n);
    CHECK(line_of({"zb_h2", p, n}, {}).peak_activations ==
          peaks(p, [&](int s) { return std::min(n, 2 * (p - s) - 1); }));
  });
}

TEST_CASE("zb_v: 6N+P-1 for F = I = W = 1, as much in flight on every worker") {
  for (int p = 1; p <= 8; ++p)
    for (int n = 1; n <= 24; ++n) {
      const auto line = line_of({"zb_v", p, n}, {1, 1, 1, 0});
      CAPTURE(p, n);
      const int short_of = n < 2 * p - 1 ? std::max(0, 3 * (p - 1) - 2 * (n - 1)) : 0;
      CHECK(line.makespan == 6 * n + p - 1 + short_of);
      CHECK(line.peak_activations == peaks(p, [&](int s) {
              return std::min({2 * n, n + 1 + s, 2 * p});
            }));
    }
}

TEST_CASE("K steps without a gap under zb_h2 and zb_v, with one under zb_h1, F = I = W = 1") {
  each_draw([](Draw draw) {
    const int p = draw.size(1, 6), k = draw.size(1, 4), n = draw.size(p, p + 12);
    CAPTURE(p, k, n);
    CHECK(line_of({"zb_h1", p, n, k}, {1, 1, 1, 0}).makespan == k * (3 * n + p - 1));
    const int m = draw.size(2 * p - 1, 2 * p + 12);
    CAPTURE(m);
    CHECK(line_of({"zb_h2", p, m, k}, {1, 1, 1, 0}).makespan == 3 * m * k + p - 1);
    CHECK(line_of({"zb_v", p, m, k}, {1, 1, 1, 0}).makespan == 6 * m * k + p - 1);
  });
}

TEST_CASE("interleaved_1f1b: (NV+P-1)(F+B), min(2(P-w-1)+(V-1)P+1, NV) in flight") {
  each_draw([](Draw draw) {
    const int p = draw.size(1, 8), v = draw.size(1, 4), n = p * draw.size(1, 4);
    const double f = draw.time(), b = draw.time();
    CAPTURE(p, v, n, f, b);
    const auto line = line_of(
        {.schedule = "interleaved_1f1b", .stages = p, .microbatches = n, .virtual_stages = v},
        {f, b, 0, 0});
    CHECK(line.makespan == Approx((n * v + p - 1) * (f + b)));
    CHECK(line.peak_activations ==
          peaks(p, [&](int w) { return std::min(2 * (p - w - 1) + (v - 1) * p + 1, n * v); }));
  });
}

TEST_CASE("chimera: N(F+B) + (P-2) max(F,B) + (N/P-1)(P-2)|B-F|, where P divides N") {
  each_draw([](Draw draw) {
    const int p = 2 * draw.size(1, 4), units = draw.size(1, 4), n = p * units;
    const double f = draw.time(), b = draw.time();
    CAPTURE(p, n, f, b);
    const auto line = line_of({"chimera", p, n}, {f, b, 0, 0});
    CHECK(line.makespan ==
          Approx(n * (f + b) + (p - 2) * std::max(f, b) + (units - 1) * (p - 2) * std::abs(b - f)));
    CHECK(line.peak_activations ==
          peaks(p, [&](int w) { return p / 2 + 1 + std::min(w, p - 1 - w); }));
    const auto even = line_of({"chimera", p, n}, {1, 1, 0, 0});
    CHECK(even.bubble == Approx(double(p - 2) / (2 * n + p - 2)).margin(1e-12));
  });
}

TEST_CASE("data_parallel: N/P (F+B), no worker waits") {
  each_draw([](Draw draw) {
    const int p = draw.size(1, 8), n = p * draw.size(1, 4), k = draw.size(1, 3);
    const double f = draw.time(), b = draw.time();
    CAPTURE(p, n, k, f, b);
    const auto line = line_of({"data_parallel", p, n, k}, {f, b, 0, 0});
    CHECK(line.makespan == Approx(k * n / p * (f + b)));
    CHECK(line.bubble == Approx(0).margin(1e-12));
    CHECK(line.peak_activations == peaks(p, [](int) { return 1; }));
  });
}

TEST_CASE("never drained: (KN+P-1)(F+B), versions and staleness by the warm-up alone") {
  each_draw([](Draw draw) {
    const int p = draw.size(1, 6), n = draw.size(1, 8);
    const double f = draw.time(), b = draw.time();
    for (const Warmup warmup : {Warmup::OneFOneB, Warmup::Double, Warmup::Full}) {
      const auto delay = [&](int s) { return warmup_of(warmup, p - 1 - s); };
      const int k = 4 + 2 * divided_up(delay(0), n);  // long enough for a steady state
      CAPTURE(p, n, k, f, b, warmup);
      ScheduleRequest request{.schedule = "pipedream",
                              .stages = p,
                              .microbatches = n,
                              .minibatches = k,
                              .warmup = warmup};
      const auto stash = line_of(request, {f, b, 0, 0});
      CHECK(stash.makespan == Approx((k * n + p - 1) * (f + b)));
      CHECK(stash.peak_activations == peaks(p, [&](int s) { return delay(s) + 1; }));
      CHECK(stash.peak_weight_versions ==
            peaks(p, [&](int s) { return 1 + divided_up(delay(s), n); }));
      const auto program = make_program(request);
      for (int s = 0; s < p; ++s)
        CHECK(mean_staleness(program, s, divided_up(delay(s), n)) ==
              Approx(double(delay(s)) / n).margin(1e-12));
      request.vertical_sync = true;
      CHECK(line_of(request, {f, b, 0, 0}).peak_weight_versions ==
            peaks(p, [&](int) { return 1 + divided_up(delay(0), n); }));
      if (n < delay(0) + 1) continue;
      request.vertical_sync = false;
      request.schedule = "pipedream_2bw";
      CHECK(line_of(request, {f, b, 0, 0}).peak_weight_versions == peaks(p, [](int) { return 2; }));
    }
  });
}

TEST_CASE("nf1b: K(N+1) + 2(P-1) slots, min(NK, N + 2(P-1-s)) in flight") {
  each_draw([](Draw draw) {
    const int p = draw.size(1, 6), n = draw.size(2, 8), k = draw.size(1, 8);
    CAPTURE(p, n, k);
    const auto line = line_of({"timeprest", p, n, k}, {1, 1.0 / n, 0, 0});
    CHECK(line.makespan == Approx(k * (n + 1) + 2 * (p - 1)));
    CHECK(line.peak_activations ==
          peaks(p, [&](int s) { return std::min(n * k, n + 2 * (p - 1 - s)); }));
  });
}

TEST_CASE("timeprest, busy: K(NF + B) + (P-1)(F + B), so the last stage never waits") {
  each_draw([](Draw draw) {
    const int p = draw.size(1, 6), n = draw.size(2, 8), k = draw.size(1, 8);
    const int f = draw.size(1, 5), b = draw.size(1, 40);  // b: of a whole mini-batch
    CAPTURE(p, n, k, f, b);
    const ScheduleRequest request{.schedule = "timeprest",
                                  .stages = p,
                                  .microbatches = n,
                                  .minibatches = k,
                                  .busy = BusyTimes{.forward = f, .backward = b}};
    CHECK(line_of(request, {1. * f, 1. * b / n, 0, 0}).makespan ==
          Approx(k * (n * f + b) + (p - 1) * (f + b)));
  });
}

TEST_CASE("timeprest by real times: K(PB + (N+1-P)F) + 2(P-1)F, where N >= 2P-1 and B >= F") {
  each_draw([](Draw draw) {
    const int p = draw.size(1, 6), n = draw.size(std::max(2, 2 * p - 1), 3 * p + 2),
              k = draw.size(1, 5);
    const double f = draw.time(), b = f * draw.time(1, 30);  // of a whole mini-batch
    CAPTURE(p, n, k, f, b);
    for (const char* name : {"timeprest", "i_timeprest"})
      CHECK(line_of({name, p, n, k}, {f, b / n, 0, 0}).makespan ==
            Approx(k * (p * b + (n + 1 - p) * f) + 2 * (p - 1) * f));
  });
}
