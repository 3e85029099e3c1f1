// pipetrain devices: what stages can run on in this machine, and what this build can use.
#include <spdlog/fmt/fmt.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/verbs.hpp"
#include "backend/cpu/onednn_info.hpp"
#include "backend/cuda_info.hpp"
#include "base/columns.hpp"
#include "base/counted.hpp"
#include "base/json_text.hpp"
#include "machine/processor.hpp"
#include "machine/threads.hpp"

namespace pipetrain {
namespace {

using nlohmann::ordered_json;

ordered_json cpu_row() {
  return {{"name", processor_name()},
          {"cores", available_cores()},
          {"memory_bytes", memory_bytes()},
          {"instructions", cpu::onednn_instructions()}};
}

ordered_json cuda_row(const CudaDevice& device) {
  return {{"device", fmt::format("cuda:{}", device.index)},
          {"name", device.name},
          {"memory_bytes", device.memory_bytes},
          {"compute_capability", fmt::format("{}.{}", device.major, device.minor)}};
}

double gib(const ordered_json& bytes) { return bytes.get<double>() / (1 << 30); }

bool cuda_built_in() { return !cuda_versions().empty(); }

void print_text(const ordered_json& all) {
  const auto& cpu = all["cpu"];
  std::vector<std::vector<std::string>> rows;
  rows.push_back(
      {"cpu", fmt::format("{}, {}, {:.1f} GiB, {}", cpu["name"].get<std::string>(),
                          counted(cpu["cores"].get<int>(), "core"), gib(cpu["memory_bytes"]),
                          cpu["instructions"].get<std::string>())});
  for (const auto& device : all["cuda"]["devices"])
    rows.push_back({device["device"].get<std::string>(),
                    fmt::format("{}, {:.1f} GiB, compute capability {}",
                                device["name"].get<std::string>(), gib(device["memory_bytes"]),
                                device["compute_capability"].get<std::string>())});
  if (all["cuda"].contains("why_none"))
    rows.push_back({"cuda", all["cuda"]["why_none"].get<std::string>()});
  rows.push_back({"backends", fmt::format("cpu (oneDNN), {}reference (plain loops)",
                                          cuda_built_in() ? "cuda (cuDNN, cuBLASLt), " : "")});
  std::cout << columns(rows);
}

}  // namespace

int devices(const Options& options) {
  const CudaDevices found = cuda_devices();
  ordered_json cuda = {{"devices", ordered_json::array()}};
  for (const CudaDevice& device : found.devices) cuda["devices"].push_back(cuda_row(device));
  if (found.devices.empty()) cuda["why_none"] = found.why_none;
  ordered_json backends = {"cpu", "reference"};
  if (cuda_built_in()) backends = {"cpu", "cuda", "reference"};
  const ordered_json all = {{"cpu", cpu_row()}, {"cuda", cuda}, {"backends", backends}};
  if (options.json)
    std::cout << json_text(all) << '\n';
  else
    print_text(all);
  return 0;
}

}  // namespace pipetrain
