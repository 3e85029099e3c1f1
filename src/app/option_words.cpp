#include "app/option_words.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace pipetrain {

CLI::Validator one_of(std::vector<std::string> words) {
  const std::string shown = fmt::format("{{{}}}", fmt::join(words, ","));
  const auto check = [words = std::move(words)](const std::string& text) -> std::string {
    if (std::ranges::find(words, text) != words.end()) return "";
    return fmt::format("'{}' is not valid; write one of: {}", text, fmt::join(words, ", "));
  };
  return {check, shown};
}

CLI::Validator true_or_false() {
  const auto check = [](const std::string& text) -> std::string {
    constexpr std::string_view known[] = {"true", "false", "yes", "no", "on", "off", "1", "0"};
    if (std::ranges::find(known, text) != std::end(known)) return "";
    return fmt::format("'{}' is not valid; write true or false", text);
  };
  return {check, "{true,false}"};
}

}  // namespace pipetrain
