// A share of the training samples kept for validation: disjoint, covering, of its own seed, for
// each kind that reads files.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "catch.hpp"
#include "data/finite.hpp"
#include "data/formats.hpp"
#include "data/split.hpp"
#include "data_files.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

constexpr int sample_count = 40;

// Sample i has every pixel i, so that a sample tells which one it is.
DataConfig idx_files(const Folder& folder) {
  DataConfig config;
  config.kind = DataKind::Idx;
  config.batch_size = 4;
  std::string pixels, labels;
  for (int i = 0; i < sample_count; ++i) {
    pixels += std::string(4, static_cast<char>(i));
    labels += static_cast<char>(i % 3);
  }
  config.train_images = folder.write("images", idx({sample_count, 2, 2}, pixels));
  config.train_labels = folder.write("labels", idx({sample_count}, labels));
  return config;
}

std::vector<int> numbers(const Dataset& data) {
  std::vector<int> found;
  for (std::int64_t i = 0; i < data.size(); ++i) {
    const ReadSample s = sample(data, i);
    found.push_back(static_cast<int>(std::lround(s.input[0] * 255)));
    CHECK(s.target_class == found.back() % 3);
  }
  return found;
}

const Graph small_grey = model({{1, 2, 2}}, {{3}});

}  // namespace

TEST_CASE("split: floor(n * fraction), both parts cover all samples once", "[split]") {
  for (const std::int64_t n : {2, 3, 10, 999, 10000}) {
    for (const double fraction : {1e-9, 0.1, 0.25, 0.5, 0.9, 0.999999}) {
      INFO(n << " samples, " << fraction);
      const SampleSplit split = split_samples(n, {fraction, 1});
      const auto floor = static_cast<std::int64_t>(static_cast<double>(n) * fraction);
      CHECK(static_cast<std::int64_t>(split.validation.size()) ==
            std::clamp<std::int64_t>(floor, 1, n - 1));
      CHECK(std::ranges::is_sorted(split.train));
      CHECK(std::ranges::is_sorted(split.validation));
      std::vector<SampleId> all = split.train;
      all.insert(all.end(), split.validation.begin(), split.validation.end());
      std::ranges::sort(all);
      REQUIRE(static_cast<std::int64_t>(all.size()) == n);
      for (std::int64_t i = 0; i < n; ++i) REQUIRE(all[static_cast<std::size_t>(i)] == i);
    }
  }
}

TEST_CASE("split: the seed alone chooses, and every sample is equally likely", "[split]") {
  CHECK(split_samples(1000, {0.1, 1}).validation == split_samples(1000, {0.1, 1}).validation);
  CHECK(split_samples(1000, {0.1, 1}).validation != split_samples(1000, {0.1, 2}).validation);
  constexpr int trials = 4000, n = 10, kept = 3;
  std::vector<int> chosen(n);
  for (std::uint64_t seed = 0; seed < trials; ++seed)
    for (const SampleId id : split_samples(n, {0.3, seed}).validation)
      ++chosen[static_cast<std::size_t>(id)];
  for (const int times : chosen) CHECK(std::abs(times - trials * kept / n) < 150);  // 5 deviations
}

TEST_CASE("validation_fraction: training and validation share nothing, whatever the training seed",
          "[split]") {
  const Folder folder;
  DataConfig config = idx_files(folder);
  config.validation_fraction = 0.24;
  const Datasets a = open_datasets(config, small_grey, 1), b = open_datasets(config, small_grey, 2);
  REQUIRE(a.validation);
  CHECK(a.validation->size() == 9);
  CHECK(a.train->size() == sample_count - 9);
  CHECK(numbers(*a.validation) == numbers(*b.validation));
  std::vector<int> all = numbers(*a.train);
  const std::vector<int> kept = numbers(*a.validation);
  all.insert(all.end(), kept.begin(), kept.end());
  std::ranges::sort(all);
  for (int i = 0; i < sample_count; ++i) CHECK(all[static_cast<std::size_t>(i)] == i);
  config.validation_seed = 2;
  CHECK(numbers(*open_datasets(config, small_grey, 1).validation) != kept);
}

TEST_CASE("validation_fraction: npy and cifar files too", "[split]") {
  const Folder folder;
  DataConfig config;
  config.kind = DataKind::Npy;
  config.batch_size = 2;
  config.validation_fraction = 0.5;
  config.train_inputs =
      folder.write("x", npy(npy_header("<f4", "(4, 4)"), raw(std::vector<float>(16, 1))));
  config.train_labels =
      folder.write("y", npy(npy_header("<i8", "(4,)"), raw(std::vector<std::int64_t>{0, 1, 2, 0})));
  CHECK(open_datasets(config, model({{4}}, {{3}}), 1).validation->size() == 2);
  config.kind = DataKind::Cifar10;
  config.train_files = {folder.write("c", std::string(3073 * 4, '\0'))};
  const Datasets data = open_datasets(config, model({{3, 32, 32}}, {{10}}), 1);
  CHECK(data.validation->size() == 2);
  CHECK(data.train->size() == 2);
}

TEST_CASE("validation_fraction: one sample cannot be shared out", "[split]") {
  const Folder folder;
  DataConfig config;
  config.kind = DataKind::Cifar10;
  config.batch_size = 1;
  config.validation_fraction = 0.5;
  config.train_files = {folder.write("c", std::string(3073, '\0'))};
  const std::string message = message_of<UsageError>([&] {
    open_datasets(config, model({{3, 32, 32}}, {{10}}), 1);
  });
  CHECK(contains(message, "data.validation_fraction = 0.5"));
  CHECK(contains(message, "2 samples or more"));
}

TEST_CASE("samples that are not finite are named", "[split]") {
  const Folder folder;
  DataConfig config;
  config.kind = DataKind::Npy;
  config.batch_size = 1;
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  config.train_inputs = folder.write(
      "x", npy(npy_header("<f4", "(4, 2)"), raw(std::vector<float>{1, 2, 3, inf, 5, 6, nan, 8})));
  config.train_labels =
      folder.write("y", npy(npy_header("<f4", "(4, 1)"), raw(std::vector<float>{1, 1, -inf, 1})));
  const Datasets data = open_datasets(config, model({{2}}, {{1}}, Loss::Mse), 1);
  CHECK(nonfinite_samples(*data.train, std::vector<SampleId>{3, 0, 2, 1}) ==
        std::vector<SampleId>{3, 2, 1});
  CHECK(nonfinite_samples(*data.train, std::vector<SampleId>{0}).empty());
}

TEST_CASE("a validation_range of samples that are trained on too is noted") {
  const Folder folder;
  DataConfig config = idx_files(folder);
  config.validation_range = SampleRange{10, 20};
  CHECK(
      overlap_notes(config, sample_count) ==
      std::vector<std::string>{"data.validation_range = [10, 20]: samples 10 to 19 are trained on "
                               "too; write a data.train_range without them"});
  config.train_range = SampleRange{15, 40};
  CHECK_THAT(overlap_notes(config, sample_count).at(0), Contains("samples 15 to 19"));
  config.train_range = SampleRange{20, 40};
  CHECK(overlap_notes(config, sample_count).empty());
}
