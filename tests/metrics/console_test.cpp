// What a person sees while training.
#include "metrics/console.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "base/error.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

// What a console writes during `talk`, through a real file.
std::string written(ConsoleOptions options, const std::function<void(Console&)>& talk) {
  std::FILE* const file = std::tmpfile();
  REQUIRE(file != nullptr);
  LineOutput output(fileno(file), "standard output");
  options.out = &output;
  Console console(options);
  talk(console);
  std::fseek(file, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::ftell(file)), '\0');
  std::rewind(file);
  REQUIRE(std::fread(text.data(), 1, text.size(), file) == text.size());
  std::fclose(file);
  return text;
}

StepSummary summary(std::int64_t step) {
  return {.step = step,
          .epoch = 2,
          .loss = 0.125,
          .lr = 0.05,
          .grad_norm = 1.5,
          .samples = 64,
          .seconds = 0.5,
          .bubble = 0.25,
          .stages = {{.memory_bytes = 1 << 20}, {.memory_bytes = 3 << 19}}};
}

long count(const std::string& text, char c) { return std::count(text.begin(), text.end(), c); }
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("durations as people write them", "[metrics]") {
  CHECK(duration_text(0) == "0:00");
  CHECK(duration_text(0.4) == "0:00");
  CHECK(duration_text(0.6) == "0:01");
  CHECK(duration_text(59.4) == "0:59");
  CHECK(duration_text(59.6) == "1:00");
  CHECK(duration_text(65) == "1:05");
  CHECK(duration_text(3599.4) == "59:59");
  CHECK(duration_text(3599.6) == "1:00:00");
  CHECK(duration_text(7383) == "2:03:03");
  CHECK(duration_text(360000) == "100:00:00");
}

TEST_CASE("a pipe gets one plain line per interval", "[metrics]") {
  const std::string text = written({.log_every_steps = 2, .total_steps = 5}, [](Console& console) {
    for (int step = 1; step <= 5; ++step) console.step(summary(step));
    console.end();
  });
  CHECK(count(text, '\n') == 3);  // 2, 4, and the last
  CHECK(text.find('\033') == std::string::npos);
  CHECK(text.find('\r') == std::string::npos);
  CHECK(contains(text, "step 2/5"));
  CHECK_FALSE(contains(text, "step 3/5"));
  CHECK(contains(text, "step 5/5"));
}

TEST_CASE("a line has the figures of its interval", "[metrics]") {
  const std::string text = written({.log_every_steps = 2, .total_steps = 12}, [](Console& console) {
    StepSummary slow = summary(1);
    slow.seconds = 1.5;
    slow.bubble = 0.5;
    console.step(slow);
    console.step(summary(2));
  });
  CHECK(contains(text, "step  2/12"));  // as wide as the last step's number
  CHECK(contains(text, "epoch 2"));
  CHECK(contains(text, "loss 0.125"));
  CHECK(contains(text, "norm 1.5"));
  CHECK(contains(text, "lr 0.05"));
  CHECK(contains(text, " 64 samples/s"));  // 128 in 2 seconds, not the last step's 128 a second
  CHECK(contains(text, "bubble  44%"));    // (1.5 * 0.5 + 0.5 * 0.25) / 2 = 0.4375
  CHECK(contains(text, "memory 2.5 MiB"));
  CHECK(contains(text, "ETA 0:10"));  // ten steps of a second
  CHECK_FALSE(contains(text, "skipped"));
}

TEST_CASE("the time left counts the validations to come", "[metrics]") {
  const std::string text = written({.log_every_steps = 1, .total_steps = 10}, [](Console& console) {
    console.step(summary(1));
    console.validated(4, 3);
    console.step(summary(2));
  });
  CHECK(contains(text, "ETA 0:05"));  // nine steps of half a second
  CHECK(contains(text, "ETA 0:16"));  // eight of them, and three validations
}

TEST_CASE("if the reader takes nothing, no bar is drawn and lines are counted", "[metrics]") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  LineOutput output(ends[1], "standard output");
  output.keep(std::string(200000, 'x') + "\n");  // more than the pipe takes
  Console console({.out = &output, .terminal = true, .log_every_steps = 2, .total_steps = 4});
  for (int step = 1; step <= 4; ++step) console.step(summary(step));
  CHECK(console.dropped_lines() == 2);
  console.last("the end");
  std::string text;
  for (bool done = false; !done;) {
    char part[4096];
    text.append(part, static_cast<std::size_t>(::read(ends[0], part, sizeof part)));
    done = output.flush() && text.ends_with("the end\n");
  }
  CHECK((text.substr(200001) ==
         "lines dropped here because nobody read standard output: 2\nthe end\n"));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("each interval is measured afresh", "[metrics]") {
  const std::string text = written({.log_every_steps = 1, .total_steps = 4}, [](Console& console) {
    console.step(summary(1));
    StepSummary fast = summary(2);
    fast.seconds = 0.25;
    console.step(fast);
  });
  CHECK(contains(text, " 128 samples/s"));
  CHECK(contains(text, " 256 samples/s"));
}

TEST_CASE("a skipped step says so", "[metrics]") {
  const std::string text = written({.log_every_steps = 1, .total_steps = 4}, [](Console& console) {
    StepSummary skipped = summary(1);
    skipped.skipped = true;
    console.step(skipped);
  });
  CHECK(contains(text, "gradient not finite: skipped"));
}

TEST_CASE("a step that takes no time causes no division by zero", "[metrics]") {
  const std::string text = written({.log_every_steps = 1, .total_steps = 1}, [](Console& console) {
    StepSummary instant = summary(1);
    instant.seconds = 0;
    console.step(instant);
  });
  CHECK_FALSE(contains(text, "nan"));
  CHECK_FALSE(contains(text, "inf "));
}

TEST_CASE("quiet says nothing", "[metrics]") {
  const std::string text =
      written({.quiet = true, .terminal = true, .total_steps = 2}, [](Console& console) {
        console.line("hello");
        console.step(summary(1));
        console.step(summary(2));
        console.end();
      });
  CHECK(text.empty());
}

TEST_CASE("a terminal's bar is wiped before a line and at the end", "[metrics]") {
  const std::string wipe = "\r\033[K";
  const std::string text =
      written({.terminal = true, .log_every_steps = 100, .total_steps = 4}, [](Console& console) {
        console.step(summary(1));
        console.line("validation");
        console.step(summary(2));
        console.end();
      });
  const std::string quarter = "[" + std::string(10, '=') + std::string(30, ' ') + "]  25%";
  const std::string half = "[" + std::string(20, '=') + std::string(20, ' ') + "]  50%";
  CHECK(text == quarter + wipe + "validation\n" + half + wipe);
}

TEST_CASE("without a bar nothing is wiped", "[metrics]") {
  CHECK(written({.terminal = true}, [](Console& console) {
          console.line("plan");
          console.end();
        }) == "plan\n");
}

TEST_CASE("a bar is drawn at most ten times a second", "[metrics]") {
  const std::string text = written({.terminal = true, .log_every_steps = 1000, .total_steps = 400},
                                   [](Console& console) {
                                     for (int step = 1; step < 100; ++step) {
                                       StepSummary fast = summary(step);
                                       fast.seconds = 0.01;
                                       console.step(fast);
                                     }
                                   });
  CHECK(count(text, ']') >= 5);
  CHECK(count(text, ']') <= 10);
}

TEST_CASE("the columns of a step's line are aligned whatever the numbers", "[metrics]") {
  const StepColumns columns{
      .samples_per_second = 128, .bubble = 0.25, .seconds_left = 65, .total_steps = 1000};
  StepSummary s = summary(20);
  s.loss = 2.3;
  CHECK(step_line(s, columns) ==
        "step   20/1000  epoch 2  loss 2.300      norm 1.50      lr 0.0500         128 samples/s  "
        "bubble  25%  memory 2.5 MiB  ETA 1:05");
  const auto width = step_line(s, columns).size();
  for (const double value : {0.0, 0.0006677, 0.00066771, 1.23456e-7, 0.05, 9.9999, 123.4, 1.5e6}) {
    s.loss = s.grad_norm = s.lr = value;
    CHECK(step_line(s, columns).size() == width);
  }
}

TEST_CASE("a full disk is an error, once", "[metrics]") {
  const int full = ::open("/dev/full", O_WRONLY);
  if (full < 0) {
    WARN("skipped: this system has no /dev/full");
    return;
  }
  LineOutput output(full, "standard output");
  Console console({.out = &output});
  CHECK_THROWS_AS(console.line("x"), DeviceError);
  CHECK_NOTHROW(console.line("x"));
  ::close(full);
}
