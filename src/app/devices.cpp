// pipetrain devices: what this machine has for stages to run on, and what this build can use.
#include <sched.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "app/columns.hpp"
#include "app/verbs.hpp"
#include "backend/cpu/onednn_info.hpp"

namespace pipetrain {
namespace {

std::string cpu_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != line.npos) return line.substr(colon + 2);
  }
  return "unknown";
}

// Cores that this process may use: fewer than the machine's under taskset or in a container.
int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::thread::hardware_concurrency());
}

std::int64_t memory_bytes() {
  return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
}

}  // namespace

int devices(const Options& options) {
  const nlohmann::ordered_json cpu = {{"name", cpu_name()},
                                      {"cores", usable_cores()},
                                      {"memory_bytes", memory_bytes()},
                                      {"instructions", cpu::onednn_instructions()}};
  const nlohmann::ordered_json all = {
      {"cpu", cpu}, {"cuda", nullptr}, {"backends", {"cpu", "reference"}}};
  if (options.json) {
    std::cout << all.dump(2) << '\n';
    return 0;
  }
  const double memory_gib = static_cast<double>(memory_bytes()) / (1 << 30);
  std::cout << columns(
      {{"cpu", fmt::format("{}, {} cores, {:.1f} GiB, {}", cpu_name(), usable_cores(), memory_gib,
                           cpu::onednn_instructions())},
       {"cuda", "not in this build"},
       {"backends", "cpu (oneDNN), reference (plain loops)"}});
  return 0;
}

}  // namespace pipetrain
