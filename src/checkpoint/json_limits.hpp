// Limits on a JSON document before it is parsed: checkpoint files may come from elsewhere.
#pragma once

#include <cstddef>
#include <string>

namespace pipetrain {

struct JsonLimits {
  std::size_t depth;    // of nested arrays and objects
  std::size_t values;   // in the whole document, including arrays and objects
  std::size_t members;  // per object
};

// Why `text` is refused, as the end of a message: it is not a JSON object, an object has a
// duplicate key (a parser would keep the last), or it exceeds a limit. Empty: nlohmann's parser
// accepts it. Reads the text once, whatever it holds; a parser callback would take quadratic time.
std::string json_problem(const std::string& text, const JsonLimits& limits);

}  // namespace pipetrain
