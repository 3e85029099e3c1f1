// What was read of a config, and what rules ask about it: who wrote a key, where, and whether its
// value is a problem by itself.
#pragma once

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>

#include "config/sources.hpp"

namespace pipetrain::config {

// What was read. `wrong` holds the keys and tables with a problem of their own, misspelt ones among
// them: no rule says more about these.
struct Given {
  const Sources& sources;
  const std::set<std::string, std::less<>>& wrong;
};

using Paths = std::initializer_list<std::string_view>;

// What was written for the key; null where nothing was.
const Value* setting(const Given& given, std::string_view path);

// The place of the first of `paths` that somebody wrote.
Place place(const Given& given, Paths paths);

// Whether the key itself has a problem, or a table that it belongs to.
bool is_wrong(const Given& given, std::string_view path);

// Whether none of `paths` has.
bool fine(const Given& given, Paths paths);

}  // namespace pipetrain::config
