// What a config writes for a key, checked and put into the key's field.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "base/suggest.hpp"
#include "config/byte_size.hpp"
#include "config/data_place.hpp"
#include "config/fields.hpp"

namespace pipetrain::config {
namespace {

// "cuda:" and a number without leading zeros.
bool is_device(std::string_view name) {
  constexpr std::string_view kind = "cuda:";
  constexpr std::size_t most_digits = 3;
  if (!name.starts_with(kind)) return false;
  name.remove_prefix(kind.size());
  const bool digits = name.find_first_not_of("0123456789") == name.npos;
  return digits && !name.empty() && name.size() <= most_digits &&
         (name.size() == 1 || name.front() != '0');
}

// Takes one value for one key. Each operator() is the rule for one type of field.
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
    return refuse(value, fmt::format("{} = {} is not known", key.path, show(value)),
                  "write " + expectation(key) + suggest(text, key.values));
  }
  bool operator()(WordField field) const {
    const auto* text = as<std::string>(value);
    if (!text) return wrong_type(value);
    if (!word(*text)) return false;
    field.set(config,
              static_cast<int>(std::ranges::find(field.words, *text) - field.words.begin()));
    return true;
  }
  bool operator()(FieldOf<std::string> field) const {
    const auto* text = as<std::string>(value);
    if (!text) return wrong_type(value);
    if (!word(*text)) return false;
    field(config) = *text;
    return true;
  }

  std::filesystem::path located(const std::string& path) const {
    const auto named = std::filesystem::absolute(value.folder / path).lexically_normal();
    return key.samples == SampleFiles::None ? named : data_place(named);
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

  bool operator()(FieldOf<NamePatterns> field) const {
    const auto* names = as<std::vector<Value>>(value);
    if (!names) return wrong_type(value);
    NamePatterns read;
    for (const Value& name : *names) {
      const auto* text = as<std::string>(name);
      if (!text) return wrong_type(name);
      read.patterns.push_back(*text);
    }
    field(config) = read;
    return true;
  }
  // Names of devices: "cuda:0". The same one may appear several times, for several workers.
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
        return refuse(name, fmt::format("{} names {}, which is not a device", key.path, show(name)),
                      "write \"cuda:0\" for the first GPU, \"cuda:1\" for the second "
                      "(pipetrain devices lists them)");
      }
      devices.push_back(*text);
    }
    field(config) = devices;
    return true;
  }

  bool operator()(FieldOf<std::optional<std::int64_t>> field) const {
    std::int64_t number = 0;
    if (!whole(value, number)) return false;
    field(config) = number;
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
                    "write [first, last] with 0 <= first < last; last is not included");
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
      return refuse(
          value,
          fmt::format("{} = {} is not a range of 1 to {} steps", key.path, show(value), longest),
          "write [first, last] with first <= last; both are included");
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
  // One side, or [height, width]; [] means none.
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
    if (out.empty())
      return refuse(value, fmt::format("{} = [] has no number", key.path),
                    "write one for all, or one per stage");
    if (std::ranges::adjacent_find(out, std::not_equal_to<>()) == out.end()) out.resize(1);
    field(config) = out;
    return true;
  }

  bool operator()(FieldOf<SplitConfig> field) const {
    if (const auto* rule = as<std::string>(value)) {
      if (!word(*rule)) return false;
      field(config) = {.rule = word_named<SplitRule>(*rule).value(), .first_layers = {}};
      return true;
    }
    const auto* names = as<std::vector<Value>>(value);
    if (!names) return wrong_type(value);
    SplitConfig split{.rule = SplitRule::FirstLayers, .first_layers = {}};
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

  bool operator()(FieldOf<RecomputeConfig> field) const {
    if (const auto* rule = as<std::string>(value)) {
      if (!word(*rule)) return false;
      field(config) = {.rule = word_named<Recompute>(*rule).value()};
      return true;
    }
    const auto* kinds = as<std::vector<Value>>(value);
    if (!kinds) return wrong_type(value);
    if (kinds->empty())
      return refuse(value, fmt::format("{} = [] names no kind of layer", key.path),
                    "write \"none\", or kinds as in the model file, [\"gelu\"]");
    RecomputeConfig recompute{.rule = Recompute::Kinds};
    for (const Value& kind : *kinds) {
      const auto* text = as<std::string>(kind);
      if (!text) return wrong_type(kind);
      recompute.kinds.push_back(*text);
    }
    field(config) = recompute;
    return true;
  }
};

}  // namespace

bool read_field(const Key& key, const Value& value, Config& config, Problems& problems) {
  if (!std::visit(Take{key, value, config, problems}, key.field)) return false;
  if (key.built) return true;
  const bool has_field = !std::holds_alternative<std::monostate>(key.field);
  if ((has_field ? write_field(key, config) : show(value)) == key.off) return true;
  if (has_field && key.off == "\"\"" && write_field(key, config).empty()) return true;
  problems.push_back(
      {value.place, fmt::format("{} = {} is not supported yet", key.path, show(value)),
       key.off.empty() ? "leave it out"
                       : fmt::format("leave it out, or write {} = {}", key.name(), key.off)});
  return false;
}

}  // namespace pipetrain::config
