#include "run/class_names.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/printable.hpp"
#include "run/trained.hpp"

namespace pipetrain {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

constexpr std::size_t kMostShown = 20;

Names read_names(const std::filesystem::path& file) {
  const json list = json::parse(read_whole_file(file), nullptr, false);
  const auto is_name = [](const json& name) { return name.is_string(); };
  if (!list.is_array() || !std::ranges::all_of(list, is_name))
    throw DataError(fmt::format(
        "{}: this is not a list of class names; remove it to run without one", file.string()));
  return list.get<Names>();
}

// The names in `all` that are not in `others`: "; missing: cat, dog".
std::string not_in(const char* what, const Names& all, const Names& others) {
  Names left;
  for (const std::string& name : all)
    if (std::ranges::find(others, name) == others.end()) left.push_back(name);
  if (left.empty()) return "";
  const std::size_t more = left.size() - std::min(left.size(), kMostShown);
  left.resize(left.size() - more);
  return fmt::format("; {}: {}{}", what, printable(fmt::format("{}", fmt::join(left, ", "))),
                     more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string named(const Names& names, std::size_t label) {
  return label < names.size() ? fmt::format("'{}'", printable(names[label])) : "no class";
}

}  // namespace

std::string class_names_json(const Names& names) {
  return json(names).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

void check_class_names(const std::filesystem::path& weights, const Names& names,
                       const std::filesystem::path& folder) {
  const auto file = class_names_beside(weights);
  if (names.empty() || !file) return;
  const Names kept = read_names(*file);
  const Names here = json::parse(class_names_json(names)).get<Names>();
  if (kept == here) return;
  const auto label = static_cast<std::size_t>(std::ranges::mismatch(kept, here).in1 - kept.begin());
  throw DataError(fmt::format(
      "{}: its classes are not those that {} was trained with ({}): label {} was {} and is {} "
      "here{}{}; use the class folders of that training",
      folder.string(), weights.string(), file->string(), label, named(kept, label),
      named(here, label), not_in("missing", kept, here), not_in("new", here, kept)));
}

std::string class_names_text(const Names& names) {
  std::string text = "classes  ";
  for (std::size_t i = 0; i < std::min(names.size(), kMostShown); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", i, printable(names[i]));
  if (names.size() > kMostShown) text += fmt::format(" and {} more", names.size() - kMostShown);
  return text;
}

}  // namespace pipetrain
