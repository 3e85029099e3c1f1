// `pipetrain schedule` in a test: its options, what it prints, and what it notes.
#pragma once

#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "app/schedule.hpp"
#include "app/schedule_notes.hpp"
#include "catch.hpp"

namespace pipetrain::testing {

inline Options options_of(const std::string& name, const std::string& format) {
  Options options;
  options.schedules = {name};
  options.format = format;
  return options;
}

inline std::string printed(const Options& options) {
  std::ostringstream out;
  auto* console = std::cout.rdbuf(out.rdbuf());
  int code = -1;
  try {
    code = schedule(options);
  } catch (...) {
    std::cout.rdbuf(console);
    throw;
  }
  std::cout.rdbuf(console);
  CHECK(code == 0);
  return out.str();
}

inline nlohmann::json document_of(Options options) {
  options.format = "json";
  return nlohmann::json::parse(printed(options));
}

// The same options, for a picture in text.
inline Options options_as_text(Options options) {
  options.format = "text";
  return options;
}

// The notes that come with the pictures.
inline std::string notes_of(const Options& options) {
  std::string text;
  for (const std::string& note : notes_on(drawings_of(options), options)) text += note + "\n";
  return text;
}

}  // namespace pipetrain::testing
