// Image files that cannot be read because of the machine: not what on_bad_image = "skip" is for.
#include <cstring>

#include "catch.hpp"
#include "data/made_images.hpp"
#include "failing_run.hpp"

namespace fs = std::filesystem;
using namespace pipetrain::test;

TEST_CASE("an image that the machine cannot read is not skipped, a bad one is", "[faults]") {
  const TestFolder folder;
  for (const char* name : {"pictures/a/1.png", "pictures/b/2.png"}) {
    fs::create_directories((folder.path / name).parent_path());
    folder.write(name, png_file(counted(4, 4, 1)));
  }
  const fs::path config = folder.write("pictures.toml", R"([model]
name = "small"
input = { shape = [1, 4, 4] }
layers = [{ name = "flat", kind = "flatten" }, { name = "fc", kind = "linear", out_features = 2 }]
[data]
kind = "image_folder"
train_folder = "pictures"
on_bad_image = "skip"
batch_size = 2
[training]
steps = 2
[validation]
every_epochs = 0
)");
  const std::string train = "train --quiet " + config.string() + " --output ";
  const int reason = GENERATE(EMFILE, ENOMEM, EIO);
  int refused = 0;
  for (int n = 1;; ++n) {
    const fs::path run = folder.path / ("run-" + std::to_string(n));
    const auto [ran, fired] = run_failing(
        train + run.string(),
        {.kind = "read", .at = n, .reason = reason, .under = folder.path / "pictures/"}, folder);
    INFO("read " << n << ": " << ran.err);
    CHECK_FALSE(has(ran.err, "left out"));
    if (!fired) {
      CHECK(ran.code == 0);
      break;
    }
    if (ran.code == 0) continue;  // its mini-batch was read ahead and not trained
    ++refused;
    CHECK(ran.code == 3);
    CHECK(has(ran.err, "pictures/"));
    CHECK(has(ran.err, std::strerror(reason)));
    CHECK_FALSE(fs::exists(run / "model.safetensors"));
  }
  CHECK(refused >= 8);  // two images, each opened and read in two mini-batches
  folder.write("pictures/a/1.png", "no image");
  const Ran skipped = run_binary(train + (folder.path / "skipped").string());
  CHECK(skipped.code == 0);
  CHECK(has(skipped.err, "1.png: this is neither JPEG nor PNG"));
}
