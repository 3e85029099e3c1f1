// Class folders: order and numbers of classes, sizes, threads, what is skipped, and what is
// refused.
#include "catch.hpp"
#include "data/image/image_list.hpp"
#include "data/loader.hpp"
#include "data_files.hpp"
#include "graph/graph.hpp"
#include "made_images.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

namespace fs = std::filesystem;

// A folder with 8 x 8 images of one colour each: the red of image i is i.
struct Images {
  Folder folder;
  DataConfig config;
  Images() {
    config.kind = DataKind::ImageFolder;
    config.batch_size = 1;
    config.train_folder = folder / "train";
  }
  void add(const std::string& file, int red, int height = 8, int width = 8) const {
    add_bytes(file, png_file(plain(height, width, {static_cast<char>(red), 0, 100})));
  }
  void add_bytes(const std::string& file, const std::string& bytes) const {
    fs::create_directories((folder / file).parent_path());
    folder.write(file, bytes);
  }
  Datasets open(const Graph& graph) const { return open_datasets(config, graph, 1); }
  template <class E>
  std::string refused(const Graph& graph) const {
    return message_of<E>([&] { open(graph); });
  }
};

const Graph small_colour = model({{3, 8, 8}}, {{3}});

int red_of(const ReadSample& sample) { return static_cast<int>(sample.input[0] * 255 + 0.5f); }
std::vector<std::pair<int, int>> contents(const Dataset& data) {  // red, class
  std::vector<std::pair<int, int>> found;
  for (std::int64_t i = 0; i < data.size(); ++i) {
    const ReadSample read = sample(data, i);
    found.emplace_back(red_of(read), read.target_class);
  }
  return found;
}
using Contents = std::vector<std::pair<int, int>>;

}  // namespace

TEST_CASE("image_folder: classes and files in the order of their names", "[image]") {
  Images images;
  images.add("train/dog/b.png", 1);
  images.add("train/dog/a/z.png", 2);  // folders below follow what is in the class folder itself
  images.add("train/dog/B.PNG", 3);
  images.add("train/cat/10.png", 4);
  images.add("train/cat/2.png", 5);
  images.add_bytes("train/Zebra/x.JPEG", jpeg_file(plain(8, 8, std::string("\x06\0\0", 3))));
  images.add_bytes("train/cat/notes.txt", "no image");
  images.add_bytes("train/cat/.hidden.png", "no image");
  images.add_bytes("train/.cache/x.png", "no image");
  images.add_bytes("train/readme.png", "in no class");
  const ImageList list = list_images(images.config.train_folder);
  CHECK(list.classes == std::vector<std::string>{"Zebra", "cat", "dog"});
  const Datasets data = images.open(small_colour);
  CHECK(data.validation == nullptr);
  CHECK(contents(*data.train) == Contents{{6, 0}, {4, 1}, {5, 1}, {3, 2}, {1, 2}, {2, 2}});
  CHECK(data.train->classes() == 3);
  const ReadSample first = sample(*data.train, 1);
  CHECK(first.input[64] == 0);
  CHECK(first.input[128] == 100 / 255.0f);
}

TEST_CASE("image_folder: classes of the validation folder go by name", "[image]") {
  Images images;
  for (const char* name : {"a", "b", "c"}) images.add("train/" + std::string(name) + "/1.png", 1);
  images.add("val/c/1.png", 2);
  images.config.validation_folder = images.folder / "val";
  CHECK(contents(*images.open(small_colour).validation) == Contents{{2, 2}});
  images.add("val/d/1.png", 2);
  const std::string message = images.refused<DataError>(small_colour);
  CHECK(contains(message, "val/d: "));
  CHECK(contains(message, "train has no such class folder"));
}

TEST_CASE("image_folder: a share of the images is for validation", "[image]") {
  Images images;
  for (int i = 0; i < 10; ++i)
    images.add("train/" + std::to_string(i % 2) + "/" + std::to_string(i) + ".png", i);
  images.config.validation_fraction = 0.3;
  const Datasets data = images.open(small_colour);
  CHECK(data.train->size() == 7);
  CHECK(data.validation->size() == 3);
  Contents all = contents(*data.train), rest = contents(*data.validation);
  all.insert(all.end(), rest.begin(), rest.end());
  std::ranges::sort(all);
  for (int i = 0; i < 10; ++i) CHECK(all[static_cast<std::size_t>(i)] == std::pair(i, i % 2));
}

TEST_CASE("image_folder: resized, cut and scaled to the model", "[image]") {
  Images images;
  std::string stripes;  // 16 x 32: the left half 40, the right half 200
  for (int i = 0; i < 16 * 32; ++i) stripes += std::string(3, i % 32 < 16 ? '\x28' : '\xc8');
  images.add_bytes("train/a/1.png", png_file({16, 32, 3, stripes}));
  images.add_bytes("val/a/1.png", png_file({16, 32, 3, stripes}));
  images.config.validation_folder = images.folder / "val";
  images.config.resize = {8, 0};  // 8 x 16, the middle from column 4 on
  images.config.mean = {40 / 255.0};
  images.config.std = {160 / 255.0};
  const ReadSample middle = sample(*images.open(small_colour).validation, 0);
  CHECK(middle.input[0] == Approx(0).margin(1e-6));
  CHECK(middle.input[7] == Approx(1));
  CHECK(middle.input[3] == Approx(0.125).margin(0.01));
  images.config.resize = {8, 8};
  const ReadSample squeezed = sample(*images.open(small_colour).validation, 0);
  CHECK(squeezed.input[2] == Approx(0).margin(1e-6));
  CHECK(squeezed.input[5] == Approx(1));
  images.config.resize = {};
  images.config.random_resized_crop = true;
  CHECK(sample(*images.open(small_colour).train, 0, 5) ==
        sample(*images.open(small_colour).train, 0, 5));
  CHECK(sample(*images.open(small_colour).train, 0, 5) !=
        sample(*images.open(small_colour).train, 0, 6));
  images.config.padding = 1;  // the rules of a config refuse both; here padding changes nothing
  images.config.random_resized_crop = false;
  CHECK(sample(*images.open(small_colour).train, 0, 5) !=
        sample(*images.open(small_colour).train, 0, 6));
}

TEST_CASE("image_folder: grey models", "[image]") {
  Images images;
  images.add_bytes("train/a/1.png", png_file(plain(8, 8, {'\xff', 0, 0})));
  CHECK(sample(*images.open(model({{1, 8, 8}}, {{1}})).train, 0).input ==
        std::vector<float>(64, 76 / 255.0f));
}

TEST_CASE("image_folder: a bad image stops, or the next one takes its place", "[image]") {
  Images images;
  images.add("train/a/1.png", 1);
  images.add_bytes("train/a/2.png", "damaged");
  images.add("train/a/3.png", 3, 4, 4);  // smaller than the model's 8 x 8
  images.add("train/b/4.png", 4);
  images.add_bytes("train/b/5.jpg", "");
  const Datasets stops = images.open(small_colour);
  CHECK(red_of(sample(*stops.train, 0)) == 1);
  const auto refused = [&](std::int64_t i) {
    return message_of<DataError>([&] { sample(*stops.train, i); });
  };
  CHECK(contains(refused(1), "train/a/2.png: this is neither JPEG nor PNG"));
  CHECK(contains(refused(2), "train/a/3.png: an image of 4 x 4 is smaller than the 8 x 8"));
  CHECK(contains(refused(4), "train/b/5.jpg: the file is empty"));
  images.config.on_bad_image = OnBadImage::Skip;
  const Datasets skips = images.open(small_colour);
  CHECK(skips.train->size() == 5);
  CHECK(contents(*skips.train) == Contents{{1, 0}, {4, 1}, {4, 1}, {4, 1}, {1, 0}});
  images.add_bytes("train/a/1.png", "damaged");
  images.add_bytes("train/b/4.png", "damaged");
  CHECK(contains(message_of<DataError>([&] { sample(*skips.train, 0); }),
                 "none of its 5 images can be read"));
}

TEST_CASE("image_folder: any number of threads makes the same mini-batches", "[image]") {
  Images images;
  for (int i = 0; i < 21; ++i)
    images.add_bytes("train/" + std::to_string(i % 3) + "/" + std::to_string(i) + ".jpg",
                     jpeg_file(counted(12 + i, 30 - i, 3, 9 * i)));
  images.add_bytes("train/1/bad.png", "damaged");
  images.config.on_bad_image = OnBadImage::Skip;
  images.config.resize = {10, 0};
  images.config.flip = true;
  std::vector<MiniBatch> expected;
  for (const int threads : {1, 2, 5}) {
    images.config.decode_threads = threads;
    const Datasets data = images.open(small_colour);
    CHECK(data.train->reading_threads() == threads);
    Loader loader(*data.train,
                  {.order = {.batch_size = 6, .drop_last = false, .seed = 3}, .depth = 2}, 1);
    for (std::int64_t step = 0; step < 8; ++step) {
      const MiniBatch batch = loader.get(step);
      loader.release(step);
      if (threads == 1) {
        expected.push_back(batch);
        continue;
      }
      const MiniBatch& same = expected[static_cast<std::size_t>(step)];
      CHECK(batch.ids == same.ids);
      CHECK(batch.classes == same.classes);
      CHECK(batch.inputs == same.inputs);
    }
  }
}

TEST_CASE("image_folder: what is refused", "[image]") {
  Images images;
  CHECK(contains(images.refused<DataError>(small_colour), "train: no such folder"));
  images.add_bytes("train/stray.png", "in no class");
  CHECK(
      contains(images.refused<DataError>(small_colour), "train: there are no class folders in it"));
  images.add_bytes("train/empty/notes.txt", "");
  CHECK(contains(images.refused<DataError>(small_colour),
                 "train/empty: this class folder has no image"));
  images.add("train/empty/1.png", 1);
  images.config.validation_fraction = 0.5;
  CHECK(contains(images.refused<UsageError>(small_colour), "needs 2 samples or more"));
  images.config.validation_fraction = 0;
  images.add("train/b/1.png", 1);
  CHECK(contains(images.refused<UsageError>(model({{3, 8, 8}}, {{1}})),
                 "there are 2 class folders, but the model has 1 outputs"));
  CHECK(contains(images.refused<UsageError>(model({{2, 8, 8}}, {{3}})), "the model's input is [2"));
  CHECK(contains(images.refused<UsageError>(model({{192}}, {{3}})), "the model's input is [192]"));
  CHECK(contains(images.refused<UsageError>(model({{3, 8, 8}}, {{3}}, Loss::Mse)), "mse"));
  images.config.train_folder = images.folder / "train/b/1.png";
  CHECK(contains(images.refused<DataError>(small_colour), "this is not a folder"));
}
