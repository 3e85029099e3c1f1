#include "metrics/console.hpp"

#include <cstdio>
#include <memory>

#include "base/error.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

std::string printed(std::FILE* file) {
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  REQUIRE(std::fread(text.data(), 1, text.size(), file) == text.size());
  return text;
}

StepSummary summary(std::int64_t step, double loss, double norm) {
  return {.step = step,
          .epoch = 1,
          .loss = loss,
          .lr = 0.05,
          .grad_norm = norm,
          .samples = 64,
          .seconds = 0.5,
          .stages = {{.memory_bytes = 1 << 20}, {.memory_bytes = 1 << 21}}};
}

std::string steps_on(bool terminal) {
  const File file(std::tmpfile());
  Console console(
      {.out = file.get(), .terminal = terminal, .log_every_steps = 10, .total_steps = 25});
  for (int step = 1; step <= 25; ++step) console.step(summary(step, 1, 1));
  console.line("done");
  return printed(file.get());
}

std::size_t lines_in(const std::string& text) {
  std::size_t lines = 0;
  for (const char c : text) lines += c == '\n';
  return lines;
}

}  // namespace

TEST_CASE("the columns of a step's line stand under each other whatever the numbers") {
  const StepColumns columns{
      .samples_per_second = 128, .bubble = 0.25, .seconds_left = 65, .total_steps = 1000};
  CHECK(step_line(summary(20, 2.3, 0.125), columns) ==
        "step   20/1000  epoch 1  loss 2.300      norm 0.125     lr 0.0500         128 samples/s  "
        "bubble  25%  memory 3.0 MiB  ETA 1:05");
  const auto width = step_line(summary(1, 1, 1), columns).size();
  for (const double value : {0.0, 0.0006677, 0.00066771, 1.23456e-7, 0.05, 9.9999, 123.4, 1.5e6})
    for (const std::int64_t step : {1, 999})
      CHECK(step_line(summary(step, value, value), columns).size() == width);
}

TEST_CASE("a pipe gets one line per interval and the last step; a terminal a bar over it") {
  const std::string plain = steps_on(false), bar = steps_on(true);
  CHECK(lines_in(plain) == 4);  // steps 10, 20, 25 and what followed
  CHECK(plain.find('\r') == plain.npos);
  CHECK(plain.find("25/25") != plain.npos);
  CHECK(lines_in(bar) == 4);
  CHECK(bar.find("100%") != bar.npos);
  CHECK(bar.ends_with("\r\033[Kdone\n"));
}

TEST_CASE("quiet prints nothing; a full disk is an error, once") {
  const File file(std::tmpfile());
  Console quiet({.out = file.get(), .quiet = true, .terminal = true});
  quiet.step(summary(1, 1, 1));
  quiet.line("x");
  CHECK(std::ftell(file.get()) == 0);
  const File full(std::fopen("/dev/full", "w"));
  REQUIRE(full);
  Console console({.out = full.get()});
  CHECK_THROWS_AS(console.line("x"), DeviceError);
  CHECK_NOTHROW(console.line("x"));
}

TEST_CASE("durations and sizes") {
  CHECK(duration_text(0.4) == "0:00");
  CHECK(duration_text(65) == "1:05");
  CHECK(duration_text(7385) == "2:03:05");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1536) == "1.5 KiB");
}
