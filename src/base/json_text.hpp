// JSON as text. Names of files and folders may have bytes that are not UTF-8; these become U+FFFD,
// where nlohmann's default is to throw.
#pragma once

#include <string>

namespace pipetrain {

// `Json`: nlohmann::json or ordered_json. `indent`: -1 for one line.
template <class Json>
std::string json_text(const Json& json, int indent = 2) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pipetrain
