// PNG by libpng: every colour type and depth, interlaced or not.
//
// As with JPEG, a failure leaves the library by longjmp, which may only jump over frames without
// destructors: the two small functions that call setjmp own nothing.
#include <png.h>
#include <spdlog/fmt/fmt.h>

#include <csetjmp>
#include <cstddef>
#include <cstring>
#include <new>

#include "data/image/image_file.hpp"

namespace pipetrain {

namespace {

struct Png {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::uint8_t> left;
  char reason[128] = "";

  Png() = default;
  ~Png() { png_destroy_read_struct(&png, &info, nullptr); }
  Png(const Png&) = delete;
  Png& operator=(const Png&) = delete;
};

[[noreturn]] void on_error(png_structp png, png_const_charp why) {
  auto& reader = *static_cast<Png*>(png_get_error_ptr(png));
  std::strncpy(reader.reason, why, sizeof reader.reason - 1);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep to, std::size_t count) {
  auto& reader = *static_cast<Png*>(png_get_io_ptr(png));
  if (count > reader.left.size()) png_error(png, "the file ends early");
  std::memcpy(to, reader.left.data(), count);
  reader.left = reader.left.subspan(count);
}

bool read_header(Png& reader) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_set_read_fn(reader.png, &reader, on_read);
  png_read_info(reader.png, reader.info);
  return true;
}

// As 8 bits of grey or RGB, whatever the file has.
bool read_pixels(Png& reader, png_bytepp rows, std::size_t row_bytes) {
  if (setjmp(png_jmpbuf(reader.png))) return false;
  png_set_scale_16(reader.png);
  png_set_palette_to_rgb(reader.png);  // also expands grey of fewer bits
  png_set_strip_alpha(reader.png);
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  if (png_get_rowbytes(reader.png, reader.info) != row_bytes)
    png_error(reader.png, "its rows do not have the length that its header says");
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

std::vector<png_bytep> rows_of(Image& image, std::size_t row_bytes) {
  std::vector<png_bytep> rows(image.height);
  for (std::size_t y = 0; y < rows.size(); ++y) rows[y] = image.bytes.data() + y * row_bytes;
  return rows;
}

}  // namespace

std::string_view version_of_libpng() { return png_get_libpng_ver(nullptr); }

Image decode_png(std::span<const std::uint8_t> file) {
  Png reader;
  reader.left = file;
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
  reader.info = reader.png ? png_create_info_struct(reader.png) : nullptr;
  if (!reader.info) throw std::bad_alloc();
  const auto damaged = [&] { return BadImage(fmt::format("damaged PNG: {}", reader.reason)); };
  if (!read_header(reader)) throw damaged();
  const bool colour = png_get_color_type(reader.png, reader.info) & PNG_COLOR_MASK_COLOR;
  Image image =
      image_of_size(png_get_image_height(reader.png, reader.info),
                    png_get_image_width(reader.png, reader.info), colour ? 3 : 1, file.size());
  const std::size_t row_bytes = image.bytes.size() / static_cast<std::size_t>(image.height);
  std::vector<png_bytep> rows = rows_of(image, row_bytes);
  if (!read_pixels(reader, rows.data(), row_bytes)) throw damaged();
  return image;
}

}  // namespace pipetrain
