// `image_folder`: JPEG and PNG files in class folders, decoded each time they are read.
//
//   training     file -> resize, or a random part at the model's size -> random window -> model
//   validation   file -> resize -> the window in the middle -> model
#include <spdlog/spdlog.h>

#include <mutex>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/printable.hpp"
#include "data/formats.hpp"
#include "data/image/augment.hpp"
#include "data/image/image_list.hpp"
#include "data/image/image_resize.hpp"
#include "data/split.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

namespace {

struct Reading {  // the steps before the window
  ImageSides resize;
  bool random_resized_crop = false;
  bool skips = false;  // skip images that cannot be read
  int threads = 1;
};

std::vector<float> planes_of(const Image& image) {
  std::vector<float> planes(image.bytes.size());
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t pixels = planes.size() / channels;
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t i = 0; i < pixels; ++i)
      planes[c * pixels + i] = static_cast<float>(image.bytes[i * channels + c]) / 255.0f;
  return planes;
}

class ImageFolder final : public Dataset {
 public:
  ImageFolder(ImageList list, Augment augment, const Reading& reading, const Graph& graph)
      : list_(std::move(list)),
        augment_(std::move(augment)),
        reading_(reading),
        shape_(graph.input),
        classes_(model_classes(graph)) {}
  std::int64_t size() const override { return std::ssize(list_.images); }
  const Shape& input_shape() const override { return shape_; }
  int classes() const override { return classes_; }
  const Shape& target_shape() const override { return no_target_; }

  int reading_threads() const override { return reading_.threads; }

  // If images are skipped, the next good one in the list replaces a bad one: the same one in every
  // epoch and for any number of threads, and usually of the same class. Not if the machine is at
  // fault: another start would then read other images.
  void read(const SampleRequest& which, const Sample& to) const override {
    for (std::int64_t tried = 0; tried < size(); ++tried) {
      const ImageEntry& entry = list_.images[(which.index + tried) % size()];
      try {
        read_image_of(entry, which, to.input);
        *to.classes = entry.label;
        return;
      } catch (const DataError& bad) {
        const auto* unread = dynamic_cast<const CannotRead*>(&bad);
        if (!reading_.skips || (unread && !unread->is_of_the_file())) throw;
        tell(entry, bad);
      }
    }
    throw DataError(
        fmt::format("{}: none of its {} images can be read", list_.folder.string(), size()));
  }

 private:
  // `to` is null if only labels are needed; labels depend on which images can be read, if bad ones
  // are skipped.
  void read_image_of(const ImageEntry& entry, const SampleRequest& which, float* to) const {
    if (!to && !reading_.skips) return;
    const std::filesystem::path file = list_.folder / entry.file;
    Image image = read_image(file, augment_.channels);
    Random random = augment_numbers(augment_.seed, which);
    try {
      image = sized(std::move(image), random);
      const Window window = choose_window(augment_, image.height, image.width, random);
      if (to) cut_window(augment_, planes_of(image).data(), image.height, image.width, window, to);
    } catch (const BadImage& bad) {
      throw DataError(fmt::format("{}: {}", printable(file.string()), bad.what()));
    }
  }

  Image sized(Image image, Random& random) const {
    if (augment_.training && reading_.random_resized_crop) {
      const ImageBox box = random_resized_box(image.height, image.width, random);
      return resized(cut_out(image, box), augment_.height, augment_.width);
    }
    const ImageSides& to = reading_.resize;
    if (to.height == 0) return image;
    return to.width == 0 ? resized_shorter_side(std::move(image), to.height)
                         : resized(std::move(image), to.height, to.width);
  }

  void tell(const ImageEntry& entry, const DataError& bad) const {
    const std::lock_guard lock(mutex_);
    if (told_.insert(entry.file).second)
      spdlog::warn("{}; left out: the next image takes its place ({} so far)", bad.what(),
                   told_.size());
  }

  ImageList list_;
  Augment augment_;
  Reading reading_;
  Shape shape_, no_target_;
  int classes_;
  mutable std::mutex mutex_;  // protects told_
  mutable std::set<std::string> told_;
};

void check_model(const Graph& graph) {
  require_class_loss("image_folder", graph);
  const std::vector<std::int64_t>& dims = graph.input.dims;
  if (graph.input.vocabulary == 0 && dims.size() == 3 && (dims[0] == 1 || dims[0] == 3))
    return require_one_label("image_folder", graph);
  throw UsageError(
      fmt::format("image_folder: the model's input is {}, but images are [3, height, width], or "
                  "[1, height, width] as grey; write input = {{ shape = [3, 224, 224] }} in the "
                  "model",
                  graph.input.text()));
}

void check_classes(const ImageList& list, const Graph& graph) {
  if (std::ssize(list.classes) <= model_classes(graph)) return;
  throw UsageError(fmt::format(
      "{}: there are {} class folders, but the model has {} outputs; give its last "
      "layer out_features = {}",
      list.folder.string(), list.classes.size(), model_classes(graph), list.classes.size()));
}

}  // namespace

Datasets open_image_folder(const DataConfig& config, const Graph& graph, std::uint64_t seed) {
  check_model(graph);
  const Augment training = training_augment(config, graph.input, seed);
  const Augment middle = validation_augment(config, graph.input);
  const Reading reading{config.resize, config.random_resized_crop,
                        config.on_bad_image == OnBadImage::Skip, config.decode_threads};
  const auto open = [&](ImageList list, const Augment& augment) {
    return std::make_unique<ImageFolder>(std::move(list), augment, reading, graph);
  };
  ImageList whole = list_images(config.train_folder);
  check_classes(whole, graph);
  Datasets datasets;
  datasets.class_names = whole.classes;
  if (config.validation_fraction > 0) {
    const SampleSplit split = split_as_configured(std::ssize(whole.images), config);
    datasets.train = open(picked(whole, split.train), training);
    datasets.validation = open(picked(whole, split.validation), middle);
    return datasets;
  }
  if (!config.validation_folder.empty())
    datasets.validation = open(list_images_like(whole, config.validation_folder), middle);
  datasets.train = open(std::move(whole), training);
  return datasets;
}

}  // namespace pipetrain
