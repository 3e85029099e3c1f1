#include "graph/fields.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <limits>

#include "base/suggest.hpp"

namespace pipetrain::model_file {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
const Table kNoEntries;

}  // namespace

Fields::Fields(const Value& table, std::string what, const Table& parameters, Problems& problems)
    : entries_(std::get_if<Table>(&table.data)),
      at_(table.at),
      what_(std::move(what)),
      parameters_(parameters),
      problems_(problems) {
  if (entries_) return;
  problems_.add(at_, fmt::format("{} is {}; write a table of keys", what_, describe(table)));
  entries_ = &kNoEntries;
  fine_ = false;
}

// The value of a key, with a "$name" replaced. A name without a value was reported where the block
// is used, so here it only counts as unreadable.
const Value* Fields::take(std::string_view key, bool required) {
  known_.push_back(key);
  const Entry* entry = find(*entries_, key);
  if (!entry) {
    if (required) missing_.push_back(key);
    return nullptr;
  }
  const auto* text = std::get_if<std::string>(&entry->value.data);
  if (!text || !text->starts_with('$')) return &entry->value;
  const Entry* parameter = find(parameters_, std::string_view(*text).substr(1));
  if (!parameter) fine_ = false;
  return parameter ? &parameter->value : nullptr;
}

void Fields::wrong(std::string_view key, const Value& value, std::string_view wanted) {
  fine_ = false;
  problems_.add(value.at,
                fmt::format("{}: {} is {}; write {}", what_, key, describe(value), wanted));
}

bool Fields::whole(std::string_view key, const Value& value, std::int64_t least,
                   std::int64_t& out) {
  const auto* number = std::get_if<std::int64_t>(&value.data);
  if (number && *number >= least && *number <= kLargest) {
    out = *number;
    return true;
  }
  wrong(key, value, fmt::format("a whole number from {} to {}", least, kLargest));
  return false;
}

std::int64_t Fields::size(std::string_view key, std::optional<std::int64_t> fallback,
                          std::int64_t least) {
  std::int64_t out = fallback.value_or(std::max<std::int64_t>(least, 1));
  if (const Value* value = take(key, !fallback)) whole(key, *value, least, out);
  return out;
}

Pair Fields::pair(std::string_view key, std::optional<Pair> fallback, std::int64_t least) {
  Pair out = fallback.value_or(Pair{1, 1});
  const Value* value = take(key, !fallback);
  if (!value) return out;
  if (const auto* list = std::get_if<List>(&value->data)) {
    if (list->size() != 2)
      wrong(key, *value, "a number, or two as [height, width]");
    else if (whole(key, (*list)[0], least, out[0]))
      whole(key, (*list)[1], least, out[1]);
  } else if (whole(key, *value, least, out[0])) {
    out[1] = out[0];
  }
  return out;
}

bool Fields::flag(std::string_view key, bool fallback) {
  const Value* value = take(key, false);
  if (!value) return fallback;
  if (const auto* on = std::get_if<bool>(&value->data)) return *on;
  wrong(key, *value, "true or false");
  return fallback;
}

double Fields::number(std::string_view key, std::optional<double> fallback,
                      const NumberRule& rule) {
  const Value* value = take(key, !fallback);
  if (!value) return fallback.value_or(0);
  double out = std::numeric_limits<double>::quiet_NaN();
  if (const auto* real = std::get_if<double>(&value->data)) out = *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value->data))
    out = static_cast<double>(*whole);
  if (out < std::numeric_limits<double>::infinity() && rule.holds(out)) return out;
  wrong(key, *value, fmt::format("a number {}", rule.words));
  return fallback.value_or(0);
}

std::string Fields::text(std::string_view key, std::optional<std::string> fallback) {
  const Value* value = take(key, !fallback);
  if (!value) return fallback.value_or("");
  const auto* text = std::get_if<std::string>(&value->data);
  if (text && !text->empty()) return *text;
  wrong(key, *value, "a name in quotes");
  return fallback.value_or("");
}

std::string Fields::choice(std::string_view key, std::initializer_list<std::string_view> words) {
  const std::string fallback(*words.begin()), written = text(key, fallback);
  if (std::ranges::find(words, written) != words.end()) return written;
  if (const Value* value = take(key, false))
    wrong(key, *value, fmt::format("one of: {}", fmt::join(words, ", ")));
  return fallback;
}

std::optional<std::vector<std::string>> Fields::texts(std::string_view key) {
  const Value* value = take(key, false);
  if (!value) return std::nullopt;
  std::vector<std::string> out;
  const auto* list = std::get_if<List>(&value->data);
  if (list)
    for (const Value& element : *list)
      if (const auto* text = std::get_if<std::string>(&element.data)) out.push_back(*text);
  if (!list || list->empty() || out.size() != list->size())
    wrong(key, *value, "a list of names: [\"a\", \"b\"]");
  return out;
}

const Table* Fields::table(std::string_view key) {
  const Value* value = take(key, false);
  if (!value) return nullptr;
  const auto* table = std::get_if<Table>(&value->data);
  if (!table) wrong(key, *value, "a table: { name = value }");
  return table;
}

const List* Fields::list(std::string_view key) {
  const Value* value = take(key, false);
  if (!value) return nullptr;
  const auto* list = std::get_if<List>(&value->data);
  if (!list) wrong(key, *value, "a list");
  return list;
}

bool Fields::finish() {
  for (const Entry& entry : *entries_) {
    if (std::ranges::find(known_, entry.key) != known_.end()) continue;
    fine_ = false;
    const auto near = nearest(entry.key, known_);
    if (near) misspelt_.push_back(*near);
    problems_.add(entry.at,
                  fmt::format("{} has no key '{}'; {}", what_, entry.key,
                              near ? fmt::format("did you mean '{}'?", *near)
                                   : fmt::format("its keys are {}", fmt::join(known_, ", "))));
  }
  std::erase_if(missing_, [&](std::string_view key) { return misspelt(key); });
  if (missing_.empty()) return fine_;
  problems_.add(at_, fmt::format("{} needs {}", what_, fmt::join(missing_, " and ")));
  return fine_ = false;
}

bool Fields::misspelt(std::string_view key) const {
  return std::ranges::find(misspelt_, key) != misspelt_.end();
}

Position Fields::at(std::string_view key) const {
  const Entry* entry = find(*entries_, key);
  return entry ? entry->value.at : at_;
}

}  // namespace pipetrain::model_file
