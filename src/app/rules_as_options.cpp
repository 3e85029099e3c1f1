#include "app/rules_as_options.hpp"

#include <algorithm>
#include <regex>
#include <string_view>

namespace pipetrain {
namespace {

// [2, 1], "1f1b" or "double", 4 or 8: as an option takes them.
std::string option_value(std::string value) {
  std::erase_if(value,
                [](char c) { return std::string_view("[]\"").find(c) != std::string::npos; });
  return std::regex_replace(value, std::regex(", "), ",");
}

}  // namespace

std::string rules_as_options(const std::string& message) {
  static const std::regex setting(
      R"((?:pipeline\.)?\b(stages|microbatches|virtual_stages|replicas|warmup) = )"
      R"((\[[^\]]*\]|(?:"[^"]*"|[0-9]+)(?: or (?:"[^"]*"|[0-9]+))*))");
  std::string text;
  auto rest = message.begin();
  for (std::sregex_iterator at(message.begin(), message.end(), setting), end; at != end; ++at) {
    std::string option = (*at)[1];
    std::ranges::replace(option, '_', '-');
    text.append(rest, (*at)[0].first);
    text += "--" + option + " " + option_value((*at)[2]);
    rest = (*at)[0].second;
  }
  text.append(rest, message.end());
  text = std::regex_replace(text, std::regex("write (vertical_sync = false)"), "$1");
  text = std::regex_replace(text, std::regex("vertical_sync = false"), "leave --vertical-sync out");
  return std::regex_replace(text, std::regex("vertical_sync"), "--vertical-sync");
}

}  // namespace pipetrain
