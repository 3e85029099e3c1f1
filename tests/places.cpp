#include "places.hpp"

#include <cstdlib>

namespace {

std::filesystem::path named(const char* variable, const char* otherwise) {
  const char* value = std::getenv(variable);
  return std::filesystem::absolute(value ? value : otherwise);
}

}  // namespace

std::filesystem::path source_tree() { return named("PIPETRAIN_SOURCE", BUILT_FROM); }
std::filesystem::path built_binary() { return named("PIPETRAIN_BINARY", BUILT_BINARY); }
std::filesystem::path extras() {
  const char* value = std::getenv("PIPETRAIN_EXTRAS");
  return value ? std::filesystem::absolute(value) : source_tree() / "../shared";
}
