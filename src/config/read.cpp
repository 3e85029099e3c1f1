#include "config/read.hpp"

#include <iterator>
#include <sstream>

#include "base/input_file.hpp"
#include "base/printable.hpp"
#include "config/fields.hpp"
#include "config/model_text.hpp"
#include "config/rules.hpp"
#include "config/sources.hpp"

namespace pipetrain {

namespace {

// Not all of config: sources that are compiled together with this one have another `Place`.
using config::Given;
using config::Key;
using config::Problems;
using config::Slip;
using config::Sources;

using Wrong = std::set<std::string, std::less<>>;

// In the order of the table, where the key that chooses a kind comes before the keys of its kinds.
Wrong read_fields(const Sources& sources, Config& config, Problems& problems) {
  Wrong wrong;
  for (const Key& key : config::keys()) {
    const auto found = sources.settings.find(key.path);
    if (found == sources.settings.end()) continue;
    const bool has_field = !std::holds_alternative<std::monostate>(key.field);
    if (!has_field && !applies(key, config)) continue;
    if (!read_field(key, found->second, config, problems)) wrong.emplace(key.path);
  }
  return wrong;
}

// Is the meant key given in the slip's own source, or in a later one?
bool given_anyway(const Sources& sources, const Slip& slip) {
  const auto key = sources.settings.find(slip.meant);
  if (key != sources.settings.end()) return key->second.place.source >= slip.source;
  for (const auto& [name, part] : sources.model)
    if ("model." + name == slip.meant) return part.place.source >= slip.source;
  return false;
}

// A misspelt key is not a missing one: what only follows from its absence is not reported.
void add_slips(const Sources& sources, Wrong& wrong) {
  for (const Slip& slip : sources.slips)
    if (!given_anyway(sources, slip)) wrong.insert(slip.meant);
}

// The file that holds the whole inline model; empty if its parts come from several sources, or from
// one that can be read only once.
std::filesystem::path only_file(const Sources& sources,
                                const std::vector<std::filesystem::path>& files) {
  const int source = sources.model.begin()->second.place.source;
  for (const auto& [key, part] : sources.model)
    if (part.place.source != source) return {};
  const auto index = static_cast<std::size_t>(source);
  const bool again = index < files.size() && is_file(files[index]);  // not a pipe
  return again ? files[index] : std::filesystem::path();
}

}  // namespace

ReadConfig read_config(const std::vector<std::filesystem::path>& files,
                       const std::vector<std::string>& sets) {
  Problems problems;
  const Sources sources = load_sources(files, sets, problems);
  Config config;
  if (!files.empty()) config.name = files.back().stem().string();
  config.inline_model = model_text(sources.model);
  Wrong wrong = read_fields(sources, config, problems);
  add_slips(sources, wrong);
  const Given given{sources, wrong};
  settle(given, config, problems);
  if (sources.whole) check_rules(given, config, problems);
  raise(std::move(problems));
  ReadConfig read{config, unused_keys(given, config), {}, {}, {}};
  config::reset_unused(read.config);
  for (std::string& note : degenerate_keys(given, read.config))
    read.notes.push_back(std::move(note));
  for (const auto& [key, value] : sources.settings) read.places[key] = value.place.text();
  if (!config.inline_model.empty()) {
    read.inline_model_file = only_file(sources, files);
    read.model_places = config::model_places(sources.model);
  }
  return read;
}

std::string with_place(const ReadConfig& read, const std::string& message) {
  const std::string key =
      message.substr(0, message.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_."));
  const auto place = read.places.find(key);
  if (place == read.places.end()) return message;
  // "--set pipeline.schedule" is a place that already names the key.
  const std::string_view rest = std::string_view(message).substr(key.size());
  if (place->second.ends_with(key) && rest.starts_with(':'))
    return place->second + std::string(rest);
  return place->second + ": " + message;
}

std::string with_model_places(const ReadConfig& read, const std::string& message) {
  const std::string begin = printable(read.config.name) + ":";
  std::istringstream lines(message);
  std::string placed;
  for (std::string line; std::getline(lines, line);) {
    std::int64_t at = 0, column = 0;
    char colon = 0;
    std::istringstream rest(line.starts_with(begin) ? line.substr(begin.size()) : "");
    const bool found = !!(rest >> at >> colon >> column) && colon == ':';
    const auto after = read.model_places.upper_bound(at);
    if (found && after != read.model_places.begin())
      line = std::prev(after)->second + std::string(std::istreambuf_iterator<char>(rest), {});
    placed += (placed.empty() ? "" : "\n") + line;
  }
  return placed;
}

}  // namespace pipetrain
