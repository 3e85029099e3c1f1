// JPEG and PNG files, as colour or as grey by the first byte of the input, and then resized.
#include "data/image/image_resize.hpp"
#include "target.hpp"

using namespace pipetrain;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static fuzz::MemoryFile file;
  if (count == 0) return 0;
  const int channels = bytes[0] == 'g' ? 1 : 3;
  return fuzz::refused_or_read([&] {
    const Image image = read_image(file.holding(fuzz::text_of(bytes, count).substr(1)), channels);
    const auto size = [](const Image& of) {
      return static_cast<std::size_t>(of.height) * static_cast<std::size_t>(of.width) *
             static_cast<std::size_t>(of.channels);
    };
    fuzz::require(image.height > 0 && image.width > 0, "an image has pixels");
    fuzz::require(image.channels == channels && image.bytes.size() == size(image),
                  "an image has as many bytes as it says");
    if (image.bytes.size() > 1 << 16) return;
    const Image small = resized(image, 5, 7);
    fuzz::require(small.bytes.size() == size(small), "a resized image is whole");
  });
}
