#include "metrics/live_view.hpp"

#include <algorithm>

#include "catch.hpp"

using namespace pipetrain;

namespace {

constexpr TerminalSize roomy{24, 120};

StepSummary step_of(std::int64_t step, double seconds, double busy, double waiting) {
  StepSummary s{.step = step, .loss = 0.25, .seconds = seconds, .bubble = 1 - busy, .stages = {}};
  s.stages = {{.busy = busy, .waiting = waiting, .memory_bytes = 1 << 20, .weight_versions = 3},
              {.busy = 0.1, .waiting = 0.9, .memory_bytes = 1 << 10}};
  return s;
}

}  // namespace

TEST_CASE("a row for each stage: shares of the time since the last drawing", "[metrics]") {
  LiveView view;
  view.see(step_of(1, 1, 0.25, 0.5));
  view.see(step_of(2, 3, 0.75, 0));  // a step three times as long
  const std::string drawn = view.draw(4, roomy);
  CHECK(drawn == "[" + std::string(20, '=') + std::string(20, ' ') +
                     "]  50%  loss 0.25  bubble 38%\n"
                     "stage 0   |" +
                     std::string(25, '#') + std::string(5, '.') + std::string(10, ' ') +
                     "| computes  62%  waits  12%    1.0 MiB  3 versions\n"
                     "stage 1   |####" +
                     std::string(36, '.') + "| computes  10%  waits  90%    1.0 KiB");
  view.see(step_of(3, 1, 1, 0));
  CHECK_THAT(view.draw(4, roomy), Contains("computes 100%  waits   0%"));
}

TEST_CASE("a terminal that is too small, or unknown, shows how far the run is", "[metrics]") {
  for (const TerminalSize size : {TerminalSize{}, {3, 120}, {24, 99}}) {
    LiveView view;
    view.see(step_of(4, 1, 0.5, 0.5));
    CHECK(view.draw(4, size) == "[" + std::string(40, '=') + "] 100%");
  }
}

TEST_CASE("shares beyond their bar, and a step without time, stay in their row", "[metrics]") {
  LiveView view;
  view.see(step_of(1, 1, 1.2, 0.7));
  const std::string drawn = view.draw(2, roomy);
  CHECK_THAT(drawn, Contains("|" + std::string(40, '#') + "|"));
  view.see(step_of(2, 0, 0.5, 0.5));
  CHECK(std::ranges::count(view.draw(2, roomy), '\n') == 0);
}

TEST_CASE("wiping goes back to where the drawing began", "[metrics]") {
  CHECK(wipe_text("[==]") == "\r\033[K");
  CHECK(wipe_text("[==]\nstage 0\nstage 1") == "\r\033[2A\033[J");
}
