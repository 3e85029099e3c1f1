// The values of a config as TOML.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include "config/byte_size.hpp"
#include "config/fields.hpp"

namespace pipetrain::config {
namespace {

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
  std::string operator()(FieldOf<double> field) const {
    return given(field(config), number(field(config)));
  }
  std::string operator()(FieldOf<int> field) const { return fmt::format("{}", field(config)); }
  std::string operator()(FieldOf<std::uint64_t> field) const {
    return fmt::format("{}", field(config));
  }
  std::string operator()(FieldOf<std::int64_t> field) const {
    const std::int64_t value = field(config);
    if (key.bytes) return write_bytes(value);
    return given(static_cast<double>(value), fmt::format("{}", value));
  }
  std::string operator()(WordField field) const {
    return quote(std::string(field.words[field.get(config)]));
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
  std::string operator()(FieldOf<NamePatterns> field) const {
    std::vector<std::string> names;
    for (const std::string& name : field(config).patterns) names.push_back(quote(name));
    return list(names);
  }
  std::string operator()(FieldOf<std::optional<std::int64_t>> field) const {
    const auto& number = field(config);
    return number ? fmt::format("{}", *number) : "";
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
    if (split.rule != SplitRule::FirstLayers) return quote(std::string(word_of(split.rule)));
    std::vector<std::string> names;
    for (const std::string& name : split.first_layers) names.push_back(quote(name));
    return list(names);
  }
  std::string operator()(FieldOf<RecomputeConfig> field) const {
    const RecomputeConfig& recompute = field(config);
    if (recompute.rule != Recompute::Kinds) return quote(std::string(word_of(recompute.rule)));
    std::vector<std::string> kinds;
    for (const std::string& kind : recompute.kinds) kinds.push_back(quote(kind));
    return list(kinds);
  }
};

}  // namespace

std::string write_field(const Key& key, Config& config) {
  return std::visit(Write{key, config}, key.field);
}

}  // namespace pipetrain::config
