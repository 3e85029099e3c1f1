#include "config/value.hpp"

#include <spdlog/fmt/fmt.h>

#include <cmath>

namespace pipetrain::config {

std::string type_of(const Value& value) {
  static constexpr const char* kNames[] = {"true or false", "a whole number", "a number",
                                           "a string", "an array"};
  if (const auto* other = std::get_if<Value::Other>(&value.data)) return other->type;
  return kNames[value.data.index()];
}

std::string quote(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string number(double value) {
  std::string text = fmt::format("{}", value);
  const bool whole = text.find_first_of(".en") == std::string::npos;
  return whole ? text + ".0" : text;
}

namespace {

struct Show {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(double value) const { return number(value); }
  std::string operator()(const std::string& value) const { return quote(value); }
  std::string operator()(const Value::Other& value) const { return value.type; }
  std::string operator()(const std::vector<Value>& values) const {
    std::string text = "[";
    for (const Value& value : values) {
      if (text.size() > 1) text += ", ";
      text += std::visit(*this, value.data);
    }
    return text + "]";
  }
};

}  // namespace

std::string show(const Value& value) {
  constexpr std::size_t kLongest = 80;
  const std::string text = std::visit(Show{}, value.data);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

}  // namespace pipetrain::config
