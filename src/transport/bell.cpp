#include "transport/bell.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <limits>

namespace pipetrain {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));

// Not the private kind: the word has another address in each process.
void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value) {
  ::syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

void Bell::ring() noexcept {
  ++rung_;
  if (waiting_ != 0) futex(rung_, FUTEX_WAKE, std::numeric_limits<std::int32_t>::max());
}

void Bell::sleep(std::uint32_t seen) noexcept { futex(rung_, FUTEX_WAIT, seen); }

}  // namespace pipetrain
