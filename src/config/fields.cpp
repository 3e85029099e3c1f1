#include "config/fields.hpp"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>

namespace pipetrain::config {
namespace {

struct Expect {
  const Key& key;

  std::string numbers(std::string_view what) const {
    const std::string range = key.range.text();
    return range.empty() ? std::string(what) : fmt::format("{} {}", what, range);
  }
  std::string words() const { return fmt::format("one of: {}", fmt::join(key.values, ", ")); }

  std::string operator()(std::monostate) const { return std::string(key.off); }
  std::string operator()(WordField) const { return words(); }
  std::string operator()(FieldOf<bool>) const { return "true or false"; }
  std::string operator()(FieldOf<double>) const { return numbers("a number"); }
  std::string operator()(FieldOf<int>) const { return numbers("a whole number"); }
  std::string operator()(FieldOf<std::uint64_t>) const { return numbers("a whole number"); }
  std::string operator()(FieldOf<std::int64_t>) const {
    return key.bytes ? "a number of bytes, or a text like \"8GiB\" or \"512MiB\""
                     : numbers("a whole number");
  }
  std::string operator()(FieldOf<std::optional<std::int64_t>>) const {
    return numbers("a whole number");
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
  std::string operator()(FieldOf<NamePatterns>) const {
    return "names of parameters in an array, [\"fc.*\"]";
  }
  std::string operator()(FieldOf<std::optional<SampleRange>>) const {
    return "two whole numbers, [first, last], last not included";
  }
  std::string operator()(FieldOf<std::optional<StepRange>>) const {
    return numbers("[first, last], each") + ", or []";
  }
  std::string operator()(FieldOf<std::vector<std::int64_t>>) const {
    return numbers("an array of whole numbers, each");
  }
  std::string operator()(FieldOf<std::vector<double>>) const {
    const std::string each = key.range.text().empty() ? "" : ", each";
    return numbers((key.path == "optimizer.lr_factors"
                        ? "a factor for each of lr_names in an array"
                        : "a number, or one per channel in an array") +
                   each);
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
  std::string operator()(FieldOf<RecomputeConfig>) const {
    return words() + ", or kinds of layers in an array, [\"gelu\"]";
  }
};

}  // namespace

namespace {

std::string_view chosen_word(const Key& key, Config& config) {
  if (const auto* word = std::get_if<WordField>(&key.field)) return word->words[word->get(config)];
  if (const auto* recompute = std::get_if<FieldOf<RecomputeConfig>>(&key.field)) {
    const Recompute rule = (*recompute)(config).rule;
    return rule == Recompute::Kinds ? "" : word_of(rule);
  }
  return std::get<FieldOf<std::string>>(key.field)(config);
}

}  // namespace

bool applies(const Key& key, Config& config) {
  if (key.of.empty()) return true;
  const auto is_for = [&](std::string_view word) {
    return std::ranges::find(key.only, word) != key.only.end();
  };
  const bool planned = config.pipeline.automatic && key.of == "pipeline.schedule";
  return is_for(chosen_word(*find_key(key.of), config)) || (planned && is_for(automatic_schedule));
}

std::string expectation(const Key& key) { return std::visit(Expect{key}, key.field); }

}  // namespace pipetrain::config
