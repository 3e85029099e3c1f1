#include "machine/core_claims.hpp"

#include <sched.h>
#include <spdlog/fmt/fmt.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <string>

#include "machine/cpu_quota.hpp"

namespace pipetrain {
namespace {

// A claim is a socket bound to an abstract address, which the system frees when the process ends.
// Returns its descriptor; -1 if the core is already claimed; -2 if the system refuses such sockets.
int claim(std::string_view name, int core) {
  const int made = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (made < 0) return -2;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string text = fmt::format("{} core {}", name, core);
  const std::size_t length = std::min(text.size(), sizeof address.sun_path - 1);
  text.copy(address.sun_path + 1, length);  // abstract: the first byte is 0
  if (bind(made, reinterpret_cast<const sockaddr*>(&address),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length)) == 0)
    return made;
  const bool taken = errno == EADDRINUSE;
  close(made);
  return taken ? -1 : -2;
}

}  // namespace

std::vector<int> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int c = 0; c < CPU_SETSIZE; ++c)
      if (CPU_ISSET(c, &set)) cores.push_back(c);
  return cores;
}

CoreClaims::CoreClaims(int count, std::string_view name) {
  const std::vector<int> allowed = allowed_cores();
  if (cpu_quota() < static_cast<double>(allowed.size())) return;
  bool others = false;
  for (const int core : allowed) {
    if (static_cast<int>(cores_.size()) == count) break;
    const int socket = claim(name, core);
    others = others || socket == -1;
    if (socket == -1) continue;
    cores_.push_back(core);
    if (socket >= 0) sockets_.push_back(socket);
  }
  if (static_cast<int>(cores_.size()) == count) return;
  others_hold_them_ = others;
  release();
}

CoreClaims::~CoreClaims() { release(); }

void CoreClaims::release() {
  for (const int socket : sockets_) close(socket);
  sockets_.clear();
  cores_.clear();
}

}  // namespace pipetrain
