#include "app/build_info.hpp"

#include <dnnl.h>
#include <spdlog/fmt/fmt.h>
#include <spdlog/version.h>
#include <toml++/impl/version.h>
#include <zlib.h>

#include <CLI/Version.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "app/version.hpp"

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

std::string onednn() {
  const dnnl_version_t* found = dnnl_version();
  return fmt::format("{} ({})", version(found->major, found->minor, found->patch),
                     std::string(found->hash).substr(0, 8));
}

}  // namespace

nlohmann::ordered_json build_info() {
  return {
      {"pipetrain", PIPETRAIN_VERSION},
      {"compiler", compiler()},
      {"onednn", onednn()},
      {"toml++", version(TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH)},
      {"cli11", CLI11_VERSION},
      {"spdlog", version(SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)},
      {"fmt", version(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"nlohmann-json", version(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                NLOHMANN_JSON_VERSION_PATCH)},
      {"zlib", zlibVersion()},
  };
}

}  // namespace pipetrain
