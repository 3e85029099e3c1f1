// TOML in, values with places out: the files and --set options of one command, merged. Only
// sources.cpp and model_text.cpp know the TOML library.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/value.hpp"

namespace pipetrain::config {

struct ModelPart {  // one key of a model file that is in [model]
  Place place;
  std::string toml;  // "[[layers]]\nname = ..."
};

// "pipeline.stages", for a "pipeline.stags" of this source. A table that is misspelt is a slip too.
struct Slip {
  std::string meant;
  int source = 0;
};

struct Sources {
  Settings settings;
  std::map<std::string, ModelPart> model;  // by key: "layers"
  std::vector<Slip> slips;                 // unknown keys that are near to a known one
  Place end;          // where to point for what nobody wrote: the start of the last file
  bool whole = true;  // false: a source could not be parsed, so that what it gives is not known
};

// Later files win over earlier ones, `sets` ("key.path=value", one source together) over all.
Sources load_sources(const std::vector<std::filesystem::path>& files,
                     const std::vector<std::string>& sets, Problems& problems);

}  // namespace pipetrain::config
