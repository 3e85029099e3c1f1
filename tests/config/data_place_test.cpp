#include "config/data_place.hpp"

#include <cstdlib>

#include "catch.hpp"
#include "read_support.hpp"

using namespace pipetrain;

namespace {

// PIPETRAIN_DATASETS as a test wants it, afterwards as it was.
class DatasetsVariable {
 public:
  explicit DatasetsVariable(const std::filesystem::path& folder) {
    if (const char* value = std::getenv(name)) before_ = value;
    ::setenv(name, folder.c_str(), 1);
  }
  ~DatasetsVariable() { before_.empty() ? ::unsetenv(name) : ::setenv(name, before_.c_str(), 1); }
  DatasetsVariable(const DatasetsVariable&) = delete;
  DatasetsVariable& operator=(const DatasetsVariable&) = delete;

 private:
  static constexpr const char* name = "PIPETRAIN_DATASETS";
  std::string before_;
};

std::string refused(const std::filesystem::path& path) {
  try {
    check_fetched("data.train_images", path);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("data place: a path belongs to a known set if datasets describes it", "[data_place]") {
  const Folder folder;
  folder.write("datasets/digits.toml", "");
  const auto datasets = folder.path() / "datasets";
  CHECK(known_dataset(datasets / "digits/images.gz") == "digits");
  CHECK(known_dataset(datasets / "digits/train/7/a.png") == "digits");
  CHECK(known_dataset(datasets / "letters/images.gz") == "");
  CHECK(known_dataset(folder.path() / "digits/images.gz") == "");
}

TEST_CASE("data place: PIPETRAIN_DATASETS supplies what datasets does not have", "[data_place]") {
  const Folder folder;
  folder.write("datasets/digits.toml", "");
  const auto fetched = folder.write("datasets/digits/here", "1");
  folder.write("others/digits/here", "2");
  const auto other = folder.write("others/digits/there", "3");
  const auto missing = folder.path() / "datasets/digits/nowhere";
  const DatasetsVariable variable(folder.path() / "others");
  CHECK(data_place(fetched) == fetched);
  CHECK(data_place(folder.path() / "datasets/digits/there") == other);
  CHECK(data_place(missing) == missing);
  const auto unknown = folder.path() / "datasets/letters/there";
  CHECK(data_place(unknown) == unknown);
}

TEST_CASE("data place: a config finds its samples in PIPETRAIN_DATASETS", "[data_place]") {
  const Folder folder;
  folder.write("datasets/digits.toml", "");
  const auto other = folder.write("others/digits/images", "x");
  const auto config =
      folder.write("configs/run.toml", kModel +
                                           "[data]\nkind = \"idx\"\nbatch_size = 1\n"
                                           "train_images = \"../datasets/digits/images\"\n"
                                           "train_labels = \"../datasets/digits/labels\"\n"
                                           "[training]\nsteps = 1\n");
  const DatasetsVariable variable(folder.path() / "others");
  const DataConfig data = read_config({config}, {}).config.data;
  CHECK(data.train_images == other);
  CHECK(data.train_labels == folder.path() / "datasets/digits/labels");
}

TEST_CASE("data place: a known set that is missing is refused with its command", "[data_place]") {
  const Folder folder;
  folder.write("datasets/digits.toml", "");
  const auto there = folder.write("datasets/digits/images", "x");
  const DatasetsVariable variable("");
  CHECK(refused(there) == "");
  CHECK(refused(folder.path() / "datasets/letters/images") == "");
  const std::string said = refused(folder.path() / "datasets/digits/labels");
  CHECK(said.find("data.train_images: ") == 0);
  CHECK(said.find("run scripts/fetch-dataset digits") != said.npos);
}
