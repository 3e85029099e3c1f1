#include "app/build_info.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/version.h>
#include <toml++/toml.h>

#include <CLI/Version.hpp>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/version.hpp"
#include "backend/cpu/onednn_info.hpp"
#include "backend/cuda_info.hpp"
#include "base/json_text.hpp"
#include "data/byte_file.hpp"
#include "data/image/image_file.hpp"
#include "data/text/pieces.hpp"
#include "transport/nccl_calls.hpp"
#include "transport/wire.hpp"

namespace pipetrain {
namespace {

std::string version(int major, int minor, int patch) {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

std::string compiler() {
#ifdef __clang__
  return fmt::format("clang {}", __clang_version__);
#else
  return fmt::format("gcc {}", __VERSION__);
#endif
}

}  // namespace

nlohmann::ordered_json build_info() {
  nlohmann::ordered_json info = {
      {"pipetrain", PIPETRAIN_VERSION},
      {"compiler", compiler()},
      {"onednn", cpu::onednn_version()},
      {"toml++", version(TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH)},
      {"cli11", CLI11_VERSION},
      {"spdlog", version(SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)},
      {"fmt", version(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"nlohmann-json", version(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                NLOHMANN_JSON_VERSION_PATCH)},
      {"zlib", version_of_zlib()},
      {"libjpeg", version_of_libjpeg()},
      {"libpng", version_of_libpng()},
      {"sentencepiece", version_of_sentencepiece()},
  };
  const std::vector<LibraryVersion> cuda = cuda_versions();
  if (cuda.empty()) info["cuda"] = "not in this build";
  for (const LibraryVersion& library : cuda) info[library.name] = library.version;
  if (!cuda.empty()) info["nccl"] = nccl_version();
  info["mpi"] = mpi_version() == "none" ? "not in this build" : mpi_version();
  return info;
}

void print_build_info(bool json) {
  const auto info = build_info();
  if (json) {
    std::cout << json_text(info) << '\n';
    return;
  }
  for (const auto& [name, version] : info.items()) {
    std::cout << fmt::format("{:<14} {}\n", name, version.get<std::string>());
  }
}

}  // namespace pipetrain
