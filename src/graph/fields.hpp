// The keys of one table, taken one by one. Whatever is missing, unknown or out of range goes to
// Problems; reading continues with some legal value, so that one run finds every problem.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/layer_spec.hpp"
#include "graph/model_text.hpp"
#include "graph/problems.hpp"

namespace pipetrain::model_file {

struct NumberRule {
  bool (*holds)(double);
  std::string_view words;  // "above 0"
};

class Fields {
 public:
  // `what` names the table in messages: "conv2d 'conv1'". `parameters` are the values of "$name"
  // strings. All must outlive this object.
  Fields(const Value& table, std::string what, const Table& parameters, Problems& problems);

  // A whole number of at least `least`; required if there is no fallback.
  std::int64_t size(std::string_view key, std::optional<std::int64_t> fallback = {},
                    std::int64_t least = 1);
  // A number or [height, width].
  Pair pair(std::string_view key, std::optional<Pair> fallback = {}, std::int64_t least = 1);
  bool flag(std::string_view key, bool fallback);
  // Required if there is no fallback.
  double number(std::string_view key, std::optional<double> fallback, const NumberRule& rule);
  std::string text(std::string_view key, std::optional<std::string> fallback = {});
  // One of these words; the first if the key is absent.
  std::string choice(std::string_view key, std::initializer_list<std::string_view> words);
  // A list of strings; none if the key is absent.
  std::optional<std::vector<std::string>> texts(std::string_view key);
  const Table* table(std::string_view key);  // null: absent
  const List* list(std::string_view key);    // null: absent

  // The value as written, for a reader that calls wrong() if it cannot use it. Null: absent.
  const Value* value(std::string_view key) { return take(key, false); }
  void wrong(std::string_view key, const Value& value, std::string_view wanted);

  // Reports keys that were not taken, and those that are missing and not just misspelt. True if all
  // keys were fine.
  bool finish();
  // After finish(): is an unknown key nearest to this one?
  bool misspelt(std::string_view key) const;

  const std::string& what() const { return what_; }
  Position at() const { return at_; }
  Position at(std::string_view key) const;  // of the key's value, or of the table

 private:
  const Value* take(std::string_view key, bool required);
  bool whole(std::string_view key, const Value& value, std::int64_t least, std::int64_t& out);

  const Table* entries_;
  Position at_;
  std::string what_;
  const Table& parameters_;
  Problems& problems_;
  std::vector<std::string_view> known_, missing_, misspelt_;
  bool fine_ = true;
};

}  // namespace pipetrain::model_file
