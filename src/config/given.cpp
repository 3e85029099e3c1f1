#include "config/given.hpp"

#include <algorithm>

namespace pipetrain::config {

const Value* setting(const Given& given, std::string_view path) {
  const auto found = given.sources.settings.find(path);
  return found == given.sources.settings.end() ? nullptr : &found->second;
}

const Value* setting_of_user(const Given& given, std::string_view path) {
  const Value* value = setting(given, path);
  return value && !given.sources.resolved.contains(value->place.source) ? value : nullptr;
}

Place place(const Given& given, Paths paths) {
  for (const std::string_view path : paths) {
    if (const Value* value = setting(given, path)) return value->place;
  }
  return given.sources.end;
}

bool is_wrong(const Given& given, std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return given.wrong.contains(path) || (dot != path.npos && is_wrong(given, path.substr(0, dot)));
}

bool fine(const Given& given, Paths paths) {
  return std::ranges::none_of(paths, [&](std::string_view path) { return is_wrong(given, path); });
}

}  // namespace pipetrain::config
