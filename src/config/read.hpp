// TOML files and --set options -> Config, and back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/config.hpp"

namespace pipetrain {

// What a run and a checkpoint keep of the config, as dump_config() writes it.
constexpr const char* kConfigFile = "config.resolved.toml";

struct ReadConfig {
  Config config;
  // Keys without effect under the chosen kind or schedule, which have their defaults in `config`;
  // and a schedule that its keys make another one. None about a kConfigFile: the program wrote it.
  std::vector<std::string> notes;
  std::map<std::string, std::string> places;  // by key: "quickstart.toml:12:3"
  std::filesystem::path inline_model_file;    // of all inline layers; empty: none or several files
  // Where the parts of config.inline_model were written, by the first line of each in that text.
  std::map<std::int64_t, std::string> model_places;
};

// A message that begins with a key, with the key's place in front if it was written somewhere.
std::string with_place(const ReadConfig& read, const std::string& message);

// A message about config.inline_model whose lines begin with the config's name, a line and a column
// of that text: with the places where the parts were written instead.
std::string with_model_places(const ReadConfig& read, const std::string& message);

// A later file wins over an earlier one, and `sets` ("key.path=TOMLVALUE") over all. Paths in a
// file are relative to its folder, those in `sets` to the current one; all become absolute. Throws
// one UsageError with every problem, a line each:
// `file:line:column: what is wrong; what to write`.
ReadConfig read_config(const std::vector<std::filesystem::path>& files,
                       const std::vector<std::string>& sets);

// TOML that reads back to an equal config (except for its name, which is the file's). `minimal`:
// only what differs from the defaults.
std::string dump_config(const Config& config, bool minimal);

// The dotted keys whose values differ, in the order of the documentation.
std::vector<std::string> differing_keys(const Config& a, const Config& b);

// Every key that may be written, with its default and what it means, as TOML with comments.
std::string describe_keys();

}  // namespace pipetrain
