// Signals as a training sees them.
#include "run/interrupts.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "catch.hpp"

using namespace pipetrain;

namespace {

using Handler = void (*)(int);

Handler handler_of(int signal) {
  struct sigaction now {};
  sigaction(signal, nullptr, &now);
  return now.sa_handler;
}

// The exit code of a child of ours that runs `body`; -1 if it did not exit.
int exit_code_of(void (*body)()) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// What follows within a fifth of a second is the first signal again, so it is sent until it counts.
void send_two() {
  const Interrupts interrupts;
  std::raise(SIGTERM);
  for (int i = 0; i < 1000; ++i) {
    std::raise(SIGTERM);
    usleep(10'000);
  }
}

// The launcher's copy of a signal may come long after another rank has passed its own on.
void send_one_after_another_ranks() {
  const Interrupts interrupts;
  ask_to_stop(SIGTERM);
  usleep(300'000);
  std::raise(SIGTERM);
}

}  // namespace

TEST_CASE("a stop signal asks for a drain and is remembered", "[interrupts]") {
  Interrupts interrupts;
  CHECK(interrupts.stop_signal() == 0);
  CHECK_FALSE(interrupts.drain());
  CHECK_FALSE(stop_was_asked());
  std::raise(SIGINT);
  CHECK(interrupts.stop_signal() == SIGINT);
  CHECK(interrupts.drain());
  CHECK(stop_was_asked());
  CHECK_FALSE(take_save_request());
}

TEST_CASE("a request to save is taken once and stops nothing", "[interrupts]") {
  Interrupts interrupts;
  std::raise(SIGUSR1);
  CHECK(interrupts.drain());
  CHECK(take_save_request());
  CHECK_FALSE(take_save_request());
  CHECK(interrupts.stop_signal() == 0);
}

TEST_CASE("the next training begins without the signals of the one before", "[interrupts]") {
  {
    const Interrupts interrupts;
    std::raise(SIGTERM);
  }
  CHECK(stop_was_asked());
  Interrupts next;
  CHECK(next.stop_signal() == 0);
  CHECK_FALSE(next.drain());
}

TEST_CASE("handlers are put back, and there is one training at a time", "[interrupts]") {
  const Handler before = handler_of(SIGTERM);
  {
    const Interrupts interrupts;
    CHECK(handler_of(SIGTERM) != before);
    CHECK_THROWS_WITH(Interrupts(), Contains("signals are handled already"));
  }
  CHECK(handler_of(SIGTERM) == before);
}

TEST_CASE("a signal that the process was started to ignore stays ignored", "[interrupts]") {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  {
    const Interrupts interrupts;
    std::raise(SIGHUP);
    CHECK(interrupts.stop_signal() == 0);
  }
  std::signal(SIGHUP, before);
}

TEST_CASE("a second stop signal ends the process at once", "[interrupts]") {
  CHECK(exit_code_of(send_two) == 128 + SIGTERM);
}

TEST_CASE("a signal of another rank is not the first of this process's own", "[interrupts]") {
  CHECK(exit_code_of(send_one_after_another_ranks) == 0);
}

TEST_CASE("a signal of another rank stops the training that runs, or the next one",
          "[interrupts]") {
  ask_to_stop(SIGTERM);
  {
    Interrupts interrupts;
    CHECK(interrupts.stop_signal() == SIGTERM);
    CHECK(interrupts.drain());
  }
  CHECK(stop_was_asked());
  Interrupts next;
  CHECK(next.stop_signal() == 0);
  CHECK_FALSE(next.drain());
  ask_to_stop(SIGINT);
  CHECK(next.stop_signal() == SIGINT);
  CHECK(next.drain());
}

TEST_CASE("signals have their names", "[interrupts]") {
  CHECK(signal_name(SIGTERM) == "SIGTERM");
  CHECK(signal_name(SIGUSR1) == "SIGUSR1");
}
