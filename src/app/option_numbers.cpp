#include "app/option_numbers.hpp"

#include <spdlog/fmt/fmt.h>

#include <charconv>
#include <string>

namespace pipetrain {
namespace {

// Is all of `text` a number that fits into T?
template <class T>
bool read_number(const std::string& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    std::uint64_t value = 0;
    if (!read_number(text, value) || value < least || value > most)
      return fmt::format("'{}' is not valid; write a whole number from {} to {}", text, least,
                         most);
    if (text == std::to_string(value)) return "";
    // CLI11 would read it as octal.
    return fmt::format("'{}' begins with 0; write {}", text, value);
  };
  return {check, fmt::format("INT in [{} - {}]", least, most)};
}

CLI::Validator number(double least, double most) {
  const auto check = [least, most](const std::string& text) -> std::string {
    double value = 0;  // every comparison with nan is false
    if (read_number(text, value) && value >= least && value <= most) return "";
    return fmt::format("'{}' is not valid; write a number from {} to {}", text, least, most);
  };
  return {check, fmt::format("FLOAT in [{} - {}]", least, most)};
}

}  // namespace pipetrain
