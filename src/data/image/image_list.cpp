#include "data/image/image_list.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/printable.hpp"

namespace pipetrain {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, std::string_view why) {
  throw DataError(fmt::format("{}: {}", printable(path.string()), why));
}

bool hidden(const fs::path& path) { return path.filename().native().starts_with('.'); }

bool is_image(const fs::path& path) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending == ".jpg" || ending == ".jpeg" || ending == ".png";
}

std::vector<std::string> class_folders(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && !hidden(entry.path()))
      names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  if (names.empty())
    fail(folder,
         "there are no class folders in it; put the images of each class into a folder of "
         "its own, FOLDER/CLASS/IMAGE.jpg");
  return names;
}

void add_class(ImageList& list, const std::string& name, std::int32_t label) {
  std::vector<fs::path> files;
  fs::recursive_directory_iterator at(list.folder / name);
  for (; at != fs::recursive_directory_iterator(); ++at) {
    if (hidden(at->path()))
      at.disable_recursion_pending();
    else if (is_image(at->path()) && at->is_regular_file())
      files.push_back(at->path().lexically_relative(list.folder));
  }
  if (files.empty())
    fail(list.folder / name,
         "this class folder has no image; put .jpg, .jpeg or .png files into it, or remove it");
  std::ranges::sort(files, {}, [](const fs::path& file) {
    return std::pair(file.parent_path().native(), file.filename().native());
  });
  for (const fs::path& file : files) list.images.push_back({file.string(), label});
}

// The images of a folder, whose classes get their numbers from `number`.
template <class Number>
ImageList list_with(const fs::path& folder, Number number) {
  if (!is_there(folder)) fail(folder, "no such folder; check the path in [data]");
  if (!is_folder(folder))
    fail(folder, "this is not a folder; name the one that holds the class folders");
  ImageList list{folder, {}, {}};
  try {
    list.classes = class_folders(folder);
    for (const std::string& name : list.classes) add_class(list, name, number(list, name));
  } catch (const fs::filesystem_error& e) {
    fail(e.path1().empty() ? folder : e.path1(),
         fmt::format("cannot be read: {}", e.code().message()));
  }
  return list;
}

std::int32_t place_in(const std::vector<std::string>& classes, const std::string& name) {
  const auto at = std::ranges::lower_bound(classes, name);
  return at != classes.end() && *at == name ? static_cast<std::int32_t>(at - classes.begin()) : -1;
}

}  // namespace

ImageList list_images(const fs::path& folder) {
  return list_with(folder, [](const ImageList& list, const std::string& name) {
    return place_in(list.classes, name);
  });
}

ImageList list_images_like(const ImageList& training, const fs::path& folder) {
  ImageList list = list_with(folder, [&](const ImageList&, const std::string& name) {
    const std::int32_t label = place_in(training.classes, name);
    if (label < 0)
      fail(folder / name, fmt::format("{} has no such class folder: both need the same class names",
                                      training.folder.string()));
    return label;
  });
  list.classes = training.classes;
  return list;
}

ImageList picked(const ImageList& whole, const std::vector<SampleId>& samples) {
  ImageList list{whole.folder, whole.classes, {}};
  for (const SampleId sample : samples) list.images.push_back(whole.images[sample]);
  return list;
}

}  // namespace pipetrain
