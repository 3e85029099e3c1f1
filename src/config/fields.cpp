#include "config/fields.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/suggest.hpp"

namespace pipetrain::config {
namespace {

constexpr struct {
  std::string_view name;
  std::int64_t bytes;
} kUnits[] = {{"B", 1},
              {"KiB", std::int64_t{1} << 10},
              {"MiB", std::int64_t{1} << 20},
              {"GiB", std::int64_t{1} << 30},
              {"TiB", std::int64_t{1} << 40},
              {"KB", 1000},
              {"MB", 1000 * 1000},
              {"GB", 1000 * 1000 * 1000}};

// "8GiB", "1.5 MiB" -> bytes; none where it is no such text or does not fit.
std::optional<std::int64_t> parse_bytes(const std::string& text) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  if (digits == 0 || digits == text.npos) return std::nullopt;
  double count = 0;
  std::size_t used = 0;
  try {
    count = std::stod(text.substr(0, digits), &used);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  if (used != digits) return std::nullopt;
  const std::size_t unit = text.find_first_not_of(' ', digits);
  for (const auto& known : kUnits) {
    if (unit == text.npos || text.compare(unit, text.npos, known.name) != 0) continue;
    const double bytes = count * static_cast<double>(known.bytes);
    if (bytes >= 9e18) return std::nullopt;
    return static_cast<std::int64_t>(std::llround(bytes));
  }
  return std::nullopt;
}

// "cuda:" and a number as one would write it.
bool is_device(std::string_view name) {
  constexpr std::string_view kind = "cuda:";
  constexpr std::size_t most_digits = 3;
  if (!name.starts_with(kind)) return false;
  name.remove_prefix(kind.size());
  const bool digits = name.find_first_not_of("0123456789") == name.npos;
  return digits && !name.empty() && name.size() <= most_digits &&
         (name.size() == 1 || name.front() != '0');
}

std::string write_bytes(std::int64_t bytes) {
  for (const std::string_view unit : {"TiB", "GiB", "MiB", "KiB"}) {
    const auto known = std::ranges::find(kUnits, unit, [](const auto& u) { return u.name; });
    if (bytes > 0 && bytes % known->bytes == 0) {
      return fmt::format("\"{}{}\"", bytes / known->bytes, unit);
    }
  }
  return fmt::format("{}", bytes);
}

// Takes one value for one key. Each operator() is the rule of one type of field.
struct Take {
  const Key& key;
  const Value& value;
  Config& config;
  Problems& problems;

  bool refuse(const Value& at, const std::string& what, const std::string& instead) const {
    problems.push_back({at.place, what, instead});
    return false;
  }
  bool wrong_type(const Value& at) const {
    return refuse(at, fmt::format("{} is {} ({})", key.path, type_of(at), show(at)),
                  "write " + expectation(key));
  }

  template <class T>
  const T* as(const Value& at) const {
    return std::get_if<T>(&at.data);
  }

  bool in_range(const Value& at, double number) const {
    if (key.range.holds(number)) return true;
    return refuse(at, fmt::format("{} = {} is out of range", key.path, show(at)),
                  "write " + expectation(key));
  }

  template <class Int>
  bool whole(const Value& at, Int& out) const {
    const auto* number = as<std::int64_t>(at);
    if (!number) return wrong_type(at);
    if (!in_range(at, static_cast<double>(*number))) return false;
    if (std::cmp_greater(*number, std::numeric_limits<Int>::max())) {
      return refuse(at, fmt::format("{} = {} is too large", key.path, *number),
                    fmt::format("write at most {}", std::numeric_limits<Int>::max()));
    }
    out = static_cast<Int>(*number);
    return true;
  }

  bool operator()(std::monostate) const { return true; }

  bool operator()(FieldOf<bool> field) const {
    const auto* flag = as<bool>(value);
    if (flag) field(config) = *flag;
    return flag || wrong_type(value);
  }
  bool operator()(FieldOf<int> field) const { return whole(value, field(config)); }
  bool operator()(FieldOf<std::uint64_t> field) const { return whole(value, field(config)); }
  bool operator()(FieldOf<std::int64_t> field) const {
    const auto* text = as<std::string>(value);
    if (!key.bytes || !text) return whole(value, field(config));
    const auto bytes = parse_bytes(*text);
    if (!bytes) {
      return refuse(value, fmt::format("{} = {} is not a size", key.path, show(value)),
                    "write " + expectation(key));
    }
    field(config) = *bytes;
    return true;
  }

  bool real(const Value& at, double& out) const {
    const auto* integer = as<std::int64_t>(at);
    const auto* number = as<double>(at);
    if (!integer && !number) return wrong_type(at);
    out = number ? *number : static_cast<double>(*integer);
    if (!std::isfinite(out)) {
      return refuse(at, fmt::format("{} = {} is not finite", key.path, show(at)),
                    "write " + expectation(key));
    }
    return in_range(at, out);
  }
  bool operator()(FieldOf<double> field) const {
    double number = 0;
    if (!real(value, number)) return false;
    field(config) = number;
    return true;
  }

  bool word(const std::string& text) const {
    if (std::ranges::find(key.values, text) != key.values.end()) return true;
    if (std::ranges::find(key.later, text) != key.later.end()) {
      return refuse(value, fmt::format("{} = {} is not built yet", key.path, show(value)),
                    "write " + expectation(key));
    }
    std::vector<std::string_view> known = key.values;
    known.insert(known.end(), key.later.begin(), key.later.end());
    return refuse(value, fmt::format("{} = {} is not known", key.path, show(value)),
                  "write " + expectation(key) + suggest(text, known));
  }
  bool operator()(FieldOf<std::string> field) const {
    const auto* text = as<std::string>(value);
    if (!text) return wrong_type(value);
    if (!word(*text)) return false;
    field(config) = *text;
    return true;
  }

  std::filesystem::path located(const std::string& path) const {
    return std::filesystem::absolute(value.folder / path).lexically_normal();
  }
  bool operator()(FieldOf<std::filesystem::path> field) const {
    const auto* text = as<std::string>(value);
    if (!text) return wrong_type(value);
    field(config) = text->empty() ? std::filesystem::path() : located(*text);
    return true;
  }
  // One path, or several in an array.
  bool operator()(FieldOf<std::vector<std::filesystem::path>> field) const {
    const auto* names = as<std::vector<Value>>(value);
    const std::vector<Value> one = {value};
    std::vector<std::filesystem::path> paths;
    for (const Value& name : names ? *names : one) {
      const auto* text = as<std::string>(name);
      if (!text) return wrong_type(name);
      if (!text->empty()) {
        paths.push_back(located(*text));
      } else if (names) {
        return refuse(name, fmt::format("{} names a file \"\"", key.path), "write its path");
      }
    }
    field(config) = paths;
    return true;
  }

  // Names of devices: "cuda:0". One may stand there several times, for several workers.
  bool operator()(FieldOf<std::vector<std::string>> field) const {
    const auto* names = as<std::vector<Value>>(value);
    if (!names) return wrong_type(value);
    if (names->empty()) {
      return refuse(value, fmt::format("{} = [] names no device", key.path),
                    "write [\"cuda:0\"], or leave it out");
    }
    std::vector<std::string> devices;
    for (const Value& name : *names) {
      const auto* text = as<std::string>(name);
      if (!text) return wrong_type(name);
      if (!is_device(*text)) {
        return refuse(name, fmt::format("{} names {}, which is no device", key.path, show(name)),
                      "write \"cuda:0\" for the first GPU, \"cuda:1\" for the second "
                      "(pipetrain devices lists them)");
      }
      devices.push_back(*text);
    }
    field(config) = devices;
    return true;
  }

  bool operator()(FieldOf<std::optional<SampleRange>> field) const {
    const auto* pair = as<std::vector<Value>>(value);
    if (!pair || pair->size() != 2) return wrong_type(value);
    const auto* first = as<std::int64_t>(pair->front());
    const auto* last = as<std::int64_t>(pair->back());
    if (!first || !last) return wrong_type(value);
    if (*first < 0 || *last <= *first) {
      return refuse(value, fmt::format("{} = {} holds no samples", key.path, show(value)),
                    "write [first, last] with 0 <= first < last; last itself is not taken");
    }
    field(config) = SampleRange{*first, *last};
    return true;
  }

  bool operator()(FieldOf<std::optional<StepRange>> field) const {
    constexpr std::int64_t longest = 1000;
    std::vector<std::int64_t> steps;
    if (!numbers(steps)) return false;
    if (steps.empty()) {
      field(config).reset();
      return true;
    }
    if (steps.size() != 2) return wrong_type(value);
    const StepRange range{steps[0], steps[1]};
    if (range.last < range.first || range.last - range.first >= longest)
      return refuse(value,
                    fmt::format("{} = {} are not 1 to {} steps", key.path, show(value), longest),
                    "write [first, last] with first <= last; both are in");
    field(config) = range;
    return true;
  }

  template <class Int>
  bool numbers(std::vector<Int>& out) const {
    const auto* values = as<std::vector<Value>>(value);
    if (!values) return wrong_type(value);
    out.resize(values->size());
    bool good = true;
    for (std::size_t i = 0; i < out.size(); ++i) good &= whole((*values)[i], out[i]);
    return good;
  }
  bool operator()(FieldOf<std::vector<std::int64_t>> field) const {
    auto& out = field(config);
    if (!numbers(out)) return false;
    if (std::ranges::adjacent_find(out, std::greater_equal<>()) == out.end()) return true;
    return refuse(value, fmt::format("{} = {} is not ascending", key.path, show(value)),
                  "write each number once, the smallest first");
  }
  // One number for all channels, or one per channel.
  bool operator()(FieldOf<std::vector<double>> field) const {
    const auto* several = as<std::vector<Value>>(value);
    const std::vector<Value> one = {value};
    std::vector<double> out;
    for (const Value& at : several ? *several : one) {
      out.emplace_back();
      if (!real(at, out.back())) return false;
    }
    field(config) = out;
    return true;
  }
  // One side, or [height, width]; [] stands for none.
  bool operator()(FieldOf<ImageSides> field) const {
    std::vector<int> sides(1);
    if (as<std::int64_t>(value) ? !whole(value, sides[0]) : !numbers(sides)) return false;
    if (sides.size() > 2) return wrong_type(value);
    sides.resize(2);
    field(config) = {sides[0], sides[1]};
    return true;
  }
  // One number for all stages, or one per stage.
  bool operator()(FieldOf<std::vector<int>> field) const {
    std::vector<int> out(1);
    if (as<std::int64_t>(value) ? !whole(value, out[0]) : !numbers(out)) return false;
    if (std::ranges::adjacent_find(out, std::not_equal_to<>()) == out.end() && !out.empty()) {
      out.resize(1);
    }
    field(config) = out;
    return true;
  }

  bool operator()(FieldOf<SplitConfig> field) const {
    if (const auto* rule = as<std::string>(value)) {
      if (!word(*rule)) return false;
      field(config) = {.rule = *rule, .first_layers = {}};
      return true;
    }
    const auto* names = as<std::vector<Value>>(value);
    if (!names) return wrong_type(value);
    SplitConfig split{.rule = "", .first_layers = {}};
    for (const Value& name : *names) {
      const auto* text = as<std::string>(name);
      if (!text) return wrong_type(name);
      if (std::ranges::find(split.first_layers, *text) != split.first_layers.end()) {
        return refuse(name, fmt::format("{} names {} twice", key.path, quote(*text)),
                      "write each layer once, in the order of the model");
      }
      split.first_layers.push_back(*text);
    }
    field(config) = split;
    return true;
  }
};

struct Write {
  const Key& key;
  Config& config;

  template <class T>
  std::string list(const std::vector<T>& values) const {
    return fmt::format("[{}]", fmt::join(values, ", "));
  }
  // A number that the key itself would not take stands for "not given".
  std::string given(double number, const std::string& text) const {
    return key.range.holds(number) ? text : "";
  }

  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(FieldOf<bool> field) const { return field(config) ? "true" : "false"; }
  std::string operator()(FieldOf<double> field) const { return number(field(config)); }
  std::string operator()(FieldOf<int> field) const { return fmt::format("{}", field(config)); }
  std::string operator()(FieldOf<std::uint64_t> field) const {
    return fmt::format("{}", field(config));
  }
  std::string operator()(FieldOf<std::int64_t> field) const {
    const std::int64_t value = field(config);
    if (key.bytes) return write_bytes(value);
    return given(static_cast<double>(value), fmt::format("{}", value));
  }
  std::string operator()(FieldOf<std::string> field) const {
    return field(config).empty() ? "" : quote(field(config));
  }
  std::string operator()(FieldOf<std::filesystem::path> field) const {
    return field(config).empty() ? "" : quote(field(config).string());
  }
  std::string operator()(FieldOf<std::vector<std::filesystem::path>> field) const {
    std::vector<std::string> paths;
    for (const auto& path : field(config)) paths.push_back(quote(path.string()));
    if (paths.empty()) return "";
    return paths.size() == 1 ? paths[0] : list(paths);
  }
  std::string operator()(FieldOf<std::vector<std::string>> field) const {
    std::vector<std::string> names;
    for (const std::string& name : field(config)) names.push_back(quote(name));
    return names.empty() ? "" : list(names);
  }
  std::string operator()(FieldOf<std::optional<SampleRange>> field) const {
    const auto& range = field(config);
    return range ? fmt::format("[{}, {}]", range->first, range->last) : "";
  }
  std::string operator()(FieldOf<std::optional<StepRange>> field) const {
    const auto& range = field(config);
    return range ? fmt::format("[{}, {}]", range->first, range->last) : "[]";
  }
  std::string operator()(FieldOf<std::vector<std::int64_t>> field) const {
    return list(field(config));
  }
  std::string operator()(FieldOf<std::vector<double>> field) const {
    std::vector<std::string> numbers;
    for (const double value : field(config)) numbers.push_back(number(value));
    return numbers.size() == 1 ? numbers[0] : list(numbers);
  }
  std::string operator()(FieldOf<ImageSides> field) const {
    const ImageSides& sides = field(config);
    if (sides.width > 0) return fmt::format("[{}, {}]", sides.height, sides.width);
    return sides.height > 0 ? fmt::format("{}", sides.height) : "[]";
  }
  std::string operator()(FieldOf<std::vector<int>> field) const {
    const auto& values = field(config);
    return values.size() == 1 ? fmt::format("{}", values[0]) : list(values);
  }
  std::string operator()(FieldOf<SplitConfig> field) const {
    const SplitConfig& split = field(config);
    if (!split.rule.empty()) return quote(split.rule);
    std::vector<std::string> names;
    for (const std::string& name : split.first_layers) names.push_back(quote(name));
    return list(names);
  }
};

struct Expect {
  const Key& key;

  std::string numbers(std::string_view what) const {
    const std::string range = key.range.text();
    return range.empty() ? std::string(what) : fmt::format("{} {}", what, range);
  }
  std::string words() const { return fmt::format("one of: {}", fmt::join(key.values, ", ")); }

  std::string operator()(std::monostate) const { return std::string(key.off); }
  std::string operator()(FieldOf<bool>) const { return "true or false"; }
  std::string operator()(FieldOf<double>) const { return numbers("a number"); }
  std::string operator()(FieldOf<int>) const { return numbers("a whole number"); }
  std::string operator()(FieldOf<std::uint64_t>) const { return numbers("a whole number"); }
  std::string operator()(FieldOf<std::int64_t>) const {
    return key.bytes ? "a number of bytes, or a text like \"8GiB\" or \"512MiB\""
                     : numbers("a whole number");
  }
  std::string operator()(FieldOf<std::string>) const {
    return key.values.size() == 1 ? quote(std::string(key.values[0])) : words();
  }
  std::string operator()(FieldOf<std::filesystem::path>) const { return "a path in quotes"; }
  std::string operator()(FieldOf<std::vector<std::filesystem::path>>) const {
    return "a path in quotes, or several in an array";
  }
  std::string operator()(FieldOf<std::vector<std::string>>) const {
    return "names of devices in an array, [\"cuda:0\"]";
  }
  std::string operator()(FieldOf<std::optional<SampleRange>>) const {
    return "two whole numbers, [first, last]";
  }
  std::string operator()(FieldOf<std::optional<StepRange>>) const {
    return numbers("[first, last], each") + ", or []";
  }
  std::string operator()(FieldOf<std::vector<std::int64_t>>) const {
    return numbers("an array of whole numbers, each");
  }
  std::string operator()(FieldOf<std::vector<double>>) const {
    const std::string each = key.range.text().empty() ? "" : ", each";
    return numbers("a number, or one per channel in an array" + each);
  }
  std::string operator()(FieldOf<ImageSides>) const {
    return numbers("a whole number, or [height, width], each");
  }
  std::string operator()(FieldOf<std::vector<int>>) const {
    return numbers("a whole number, or one per stage in an array, each");
  }
  std::string operator()(FieldOf<SplitConfig>) const {
    return words() + ", or the names of the first layers of stages 1.. in an array";
  }
};

}  // namespace

bool read_field(const Key& key, const Value& value, Config& config, Problems& problems) {
  if (!std::visit(Take{key, value, config, problems}, key.field)) return false;
  if (key.built) return true;
  const bool has_field = !std::holds_alternative<std::monostate>(key.field);
  if ((has_field ? write_field(key, config) : show(value)) == key.off) return true;
  if (has_field && key.off == "\"\"" && write_field(key, config).empty()) return true;
  problems.push_back({value.place, fmt::format("{} = {} is not built yet", key.path, show(value)),
                      key.off.empty()
                          ? "leave it out"
                          : fmt::format("leave it out, or write {} = {}", key.name(), key.off)});
  return false;
}

std::string write_field(const Key& key, Config& config) {
  return std::visit(Write{key, config}, key.field);
}

bool applies(const Key& key, Config& config) {
  if (key.of.empty()) return true;
  const auto chosen = std::get<FieldOf<std::string>>(find_key(key.of)->field);
  return std::ranges::find(key.only, chosen(config)) != key.only.end();
}

std::string expectation(const Key& key) { return std::visit(Expect{key}, key.field); }

}  // namespace pipetrain::config
