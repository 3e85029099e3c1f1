// Rules of [data], and of validation on it.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "config/fields.hpp"
#include "config/rules.hpp"

namespace pipetrain::config {
namespace {

struct FileKey {
  std::string_view path;
  bool named;
};

// The file keys of the chosen kind of data.
std::vector<FileKey> file_keys(const Config& config, SampleFiles samples) {
  Config chosen = config;
  std::vector<FileKey> files;
  for (const Key& key : keys())
    if (key.samples == samples && applies(key, chosen))
      files.push_back({key.path, !write_field(key, chosen).empty()});
  return files;
}

bool reads_files(const Config& config) { return !file_keys(config, SampleFiles::Train).empty(); }

void check_data_files(const Given& given, const Config& config, Problems& problems) {
  if (!fine(given, {"data.kind"})) return;
  const auto need = [&](const FileKey& key, const std::string& why) {
    if (key.named || !fine(given, {key.path})) return;
    problems.push_back({place(given, {key.path, "data.kind"}),
                        fmt::format("{} is missing: {}", key.path, why),
                        fmt::format("write {} = \"FILE\"", find_key(key.path)->name())});
  };
  for (const FileKey& key : file_keys(config, SampleFiles::Train))
    need(key, fmt::format("data.kind = \"{}\" reads it", word_of(config.data.kind)));
  const auto validation = file_keys(config, SampleFiles::Validation);
  if (std::ranges::none_of(validation, &FileKey::named)) return;
  for (const FileKey& key : validation) need(key, "they come in pairs");
}

// Boxes of random size and shape are not cut from padded images.
void check_crops(const Given& given, const Config& config, Problems& problems) {
  const DataConfig& data = config.data;
  if (data.kind != DataKind::ImageFolder || !data.random_resized_crop || data.padding == 0) return;
  problems.push_back({place(given, {"data.padding", "data.random_resized_crop"}),
                      "data.padding and data.random_resized_crop are both given",
                      "write one of them: padding = 0, or random_resized_crop = false"});
}

// Which samples validate is given in one way: by files, by ranges, or by a fraction and a seed.
void check_validation_fraction(const Given& given, const Config& config, Problems& problems) {
  const DataConfig& data = config.data;
  if (data.validation_fraction == 0 || !reads_files(config) ||
      !fine(given, {"data.kind", "data.validation_fraction"}))
    return;
  std::vector<FileKey> others = file_keys(config, SampleFiles::Validation);
  others.push_back({"data.train_range", data.train_range.has_value()});
  others.push_back({"data.validation_range", data.validation_range.has_value()});
  for (const FileKey& other : others) {
    if (!other.named) continue;
    problems.push_back({place(given, {"data.validation_fraction"}),
                        fmt::format("data.validation_fraction and {} are both given", other.path),
                        "choose the validation samples once: remove one of them (or write "
                        "validation_fraction = 0)"});
    return;
  }
}

void check_validation(const Given& given, const Config& config, Problems& problems) {
  const ValidationConfig& wanted = config.validation;
  const DataConfig& data = config.data;
  const bool any = wanted.every_steps > 0 || wanted.every_epochs > 0 || wanted.before_first_step;
  if (!any || !fine(given, {"data.kind", "data.validation_range", "data.validation_fraction"}))
    return;
  const auto wrong_file = [&](const Key& key) {
    return key.samples == SampleFiles::Validation && is_wrong(given, key.path);
  };
  if (std::ranges::any_of(keys(), wrong_file)) return;
  const bool files = reads_files(config);
  const bool named =
      std::ranges::any_of(file_keys(config, SampleFiles::Validation), &FileKey::named) ||
      data.validation_range || data.validation_fraction > 0;
  if (files ? named : data.validation_samples > 0) return;
  problems.push_back({place(given, {"validation.every_epochs", "validation.every_steps",
                                    "validation.before_first_step"}),
                      "validation is configured, but [data] has no validation samples",
                      files ? "write data.validation_fraction = 0.1 or data.validation_range, or "
                              "name validation files"
                            : "write data.validation_samples above 0"});
}

void check_metric(const Given& given, const Config& config, Problems& problems) {
  if (!fine(given, {"data.kind", "validation.metric"})) return;
  if (config.validation.metric != Metric::Bleu || config.data.kind == DataKind::ParallelText)
    return;
  problems.push_back(
      {place(given, {"validation.metric"}),
       fmt::format(
           "validation.metric = \"bleu\" compares translations, but data.kind = \"{}\" has none",
           word_of(config.data.kind)),
       "write metric = \"loss\", or data.kind = \"parallel_text\""});
}

}  // namespace

void check_data(const Given& given, const Config& config, Problems& problems) {
  check_data_files(given, config, problems);
  check_crops(given, config, problems);
  check_validation_fraction(given, config, problems);
  check_validation(given, config, problems);
  check_metric(given, config, problems);
}

}  // namespace pipetrain::config
