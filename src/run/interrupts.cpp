#include "run/interrupts.hpp"

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <ctime>

#include "base/check.hpp"

namespace pipetrain {
namespace {

// All that a signal handler can reach; must be lock-free.
std::atomic<int> stop_asked{0}, asked_elsewhere{0};  // elsewhere: of another rank
std::atomic<std::int64_t> stop_time_ms{0};
std::atomic<bool> save_asked{false}, drain_asked{false}, handled{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

constexpr std::array stopping = {SIGINT, SIGTERM, SIGHUP};
constexpr std::array all = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
std::array<struct sigaction, all.size()> before;

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// timeout(1) and batch systems send a signal both to the process and to its group: within this
// time, in milliseconds, a second signal counts as the first one.
constexpr std::int64_t kSame = 200;

extern "C" void on_stop(int signal) {
  if (stop_asked == 0) {
    stop_time_ms = now_ms();
    stop_asked = signal;
    drain_asked = true;
  } else if (now_ms() - stop_time_ms > kSame) {
    _exit(128 + signal);
  }
}

extern "C" void on_save(int) { ask_to_save(); }

}  // namespace

Interrupts::Interrupts() {
  PIPETRAIN_CHECK(!handled.exchange(true), "signals are handled already");
  stop_asked = 0;
  save_asked = drain_asked = false;
  if (asked_elsewhere != 0) drain_asked = true;  // it came while data was loaded
  for (std::size_t i = 0; i < all.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = i < stopping.size() ? on_stop : on_save;
    action.sa_flags = SA_RESTART;  // files and channels are not disturbed
    ::sigaction(all[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) ::sigaction(all[i], &action, nullptr);
  }
}

Interrupts::~Interrupts() {
  for (std::size_t i = 0; i < all.size(); ++i) ::sigaction(all[i], &before[i], nullptr);
  stop_asked = signal_that_asked();
  asked_elsewhere = 0;
  handled = false;
}

int Interrupts::stop_signal() const { return signal_that_asked(); }
std::atomic<bool>& Interrupts::drain() { return drain_asked; }

void ask_to_stop(int signal) {
  asked_elsewhere = signal;
  drain_asked = true;
}

void ask_to_save() {
  save_asked = true;
  drain_asked = true;
}

bool take_save_request() { return save_asked.exchange(false); }

int signal_that_asked() {
  const int own = stop_asked;
  return own != 0 ? own : asked_elsewhere.load();
}

bool stop_was_asked() { return signal_that_asked() != 0; }

std::string signal_name(int signal) {
  const char* const name = sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

}  // namespace pipetrain
