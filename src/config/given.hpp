// What was read of a config, and what rules ask about it: who wrote a key, where, and whether its
// value alone is already a problem.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "config/sources.hpp"

namespace pipetrain::config {

// What was read. `wrong` holds the keys and tables that have a problem of their own, misspelt ones
// included: rules say nothing more about these.
struct Given {
  const Sources& sources;
  const std::set<std::string, std::less<>>& wrong;
};

using Paths = std::initializer_list<std::string_view>;

// What was written for the key; null if nothing was.
const Value* setting(const Given& given, std::string_view path);

// The same, but null if the program wrote it, in the config that a run or a checkpoint keeps.
const Value* setting_of_user(const Given& given, std::string_view path);

// The place of the first of `paths` that was written.
Place place(const Given& given, Paths paths);

// Whether the key, or a table that it belongs to, has a problem.
bool is_wrong(const Given& given, std::string_view path);

// Whether none of `paths` has a problem.
bool fine(const Given& given, Paths paths);

}  // namespace pipetrain::config
