// What a JSON document may hold before it is parsed: files of checkpoints come from elsewhere.
#pragma once

#include <cstddef>
#include <string>

namespace pipetrain {

struct JsonLimits {
  std::size_t depth;    // arrays and objects within each other
  std::size_t values;   // of the whole document, arrays and objects among them
  std::size_t members;  // of one object
};

// Why `text` is refused, as the end of a message: it is no JSON object, an object has a key twice
// (a parser would keep the last), or it exceeds a limit. Empty: nlohmann's parser takes it. Reads
// the text once, whatever it holds; a parser's callback would take quadratic time.
std::string json_problem(const std::string& text, const JsonLimits& limits);

}  // namespace pipetrain
