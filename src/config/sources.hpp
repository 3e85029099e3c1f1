// TOML in, values with places out: the files and --set options of one command, merged. Only
// sources.cpp and model_text.cpp know the TOML library.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/value.hpp"

namespace pipetrain::config {

struct ModelPart {  // one key of a model file, written in [model]
  Place place;
  std::string toml;  // "[[layers]]\nname = ..."
};

// The known key "pipeline.stages" for a "pipeline.stags" in this source; misspelt tables likewise.
struct Slip {
  std::string meant;
  int source = 0;
};

struct Sources {
  Settings settings;
  std::map<std::string, ModelPart> model;  // by key: "layers"
  std::vector<Slip> slips;                 // unknown keys that resemble a known one
  Place end;  // what to point at for keys that nobody wrote: the start of the last file
  std::set<int> resolved;  // numbers of the sources that the program wrote: each a kConfigFile
  bool whole = true;       // false: a source could not be parsed, so what it gives is unknown
};

// Later files win over earlier ones, and `sets` ("key.path=value", together one source) over all.
Sources load_sources(const std::vector<std::filesystem::path>& files,
                     const std::vector<std::string>& sets, Problems& problems);

}  // namespace pipetrain::config
