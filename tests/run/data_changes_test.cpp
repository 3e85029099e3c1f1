// Whether the data of a training that is resumed are those that it was saved with.
#include "run/data_changes.hpp"

#include "base/error.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

DataSums sums_of(std::uint64_t bytes, std::uint32_t crc) {
  return {.train_samples = 10,
          .validation_samples = 2,
          .files = {{.what = "data.train_images", .files = 1, .sum = {bytes, crc}}}};
}

}  // namespace

TEST_CASE("each difference of the data has a line", "[data changes]") {
  using Lines = std::vector<std::string>;
  const DataSums then = sums_of(100, 7);
  CHECK(data_changes(then, then).empty());
  CHECK(data_changes(then, sums_of(90, 7)) == Lines{"data.train_images: 100 bytes then, 90 now"});
  CHECK(data_changes(then, sums_of(100, 8)) ==
        Lines{"data.train_images: the same number of files and bytes, but other content"});
  DataSums other = then;
  other.files[0].what = "data.train_labels";
  other.train_samples = 9;
  CHECK(data_changes(then, other) == Lines{"data.train_labels: did not exist then",
                                           "data.train_images: is missing now",
                                           "10 training samples then, 9 now"});
}

TEST_CASE("other data are refused unless they are accepted", "[data changes]") {
  Checkpoint checkpoint;
  CHECK_NOTHROW(check_data(checkpoint, sums_of(100, 7), false));  // it has no record of its data
  checkpoint.folder = "run/checkpoints/step-00000004";
  checkpoint.manifest.data = sums_of(90, 7);
  CHECK_THROWS_AS(check_data(checkpoint, sums_of(100, 7), false), UsageError);
  CHECK_THROWS_WITH(
      check_data(checkpoint, sums_of(100, 7), false),
      Contains("step-00000004: the data have changed") && Contains("--accept-changed-data"));
  CHECK_NOTHROW(check_data(checkpoint, sums_of(100, 7), true));
}
