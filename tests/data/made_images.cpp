#include "made_images.hpp"

#include <png.h>

#include <cstddef>
#include <cstdio>  // jpeglib.h needs it first

#include <jpeglib.h>

#include <cstdlib>

namespace pipetrain::test {

namespace {

void append(png_structp png, png_bytep bytes, std::size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))
      ->append(reinterpret_cast<const char*>(bytes), count);
}
void nothing(png_structp) {}

int colour_type(const Pixels& pixels, const PngKind& kind) {
  if (!kind.palette.empty()) return PNG_COLOR_TYPE_PALETTE;
  const int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                       PNG_COLOR_TYPE_RGB_ALPHA};
  return types[pixels.channels - 1];
}

}  // namespace

Pixels counted(int height, int width, int channels, int start) {
  Pixels pixels{height, width, channels, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < channels; ++c)
        pixels.bytes += static_cast<char>(start + 10 * y + 3 * x + 40 * c);
  return pixels;
}

Pixels plain(int height, int width, const std::string& colour) {
  Pixels pixels{height, width, static_cast<int>(colour.size()), {}};
  for (int i = 0; i < height * width; ++i) pixels.bytes += colour;
  return pixels;
}

std::string png_file(const Pixels& pixels, const PngKind& kind) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  if (setjmp(png_jmpbuf(png))) std::abort();
  png_set_write_fn(png, &file, append, nothing);
  png_set_IHDR(png, info, static_cast<png_uint_32>(pixels.width),
               static_cast<png_uint_32>(pixels.height), kind.bits, colour_type(pixels, kind),
               kind.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_color palette[256];
  for (std::size_t i = 0; i < kind.palette.size() / 3; ++i)
    palette[i] = {static_cast<png_byte>(kind.palette[3 * i]),
                  static_cast<png_byte>(kind.palette[3 * i + 1]),
                  static_cast<png_byte>(kind.palette[3 * i + 2])};
  if (!kind.palette.empty())
    png_set_PLTE(png, info, palette, static_cast<int>(kind.palette.size() / 3));
  png_write_info(png, info);
  if (kind.bits < 8) png_set_packing(png);
  const int passes = png_set_interlace_handling(png);
  const std::size_t row = pixels.bytes.size() / static_cast<std::size_t>(pixels.height);
  for (int pass = 0; pass < passes; ++pass)
    for (std::size_t y = 0; y < static_cast<std::size_t>(pixels.height); ++y)
      png_write_row(png, reinterpret_cast<png_const_bytep>(pixels.bytes.data()) + y * row);
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

std::string jpeg_file(const Pixels& pixels, const JpegKind& kind) {
  jpeg_compress_struct info;
  jpeg_error_mgr errors;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);
  info.image_height = static_cast<JDIMENSION>(pixels.height);
  info.image_width = static_cast<JDIMENSION>(pixels.width);
  info.input_components = pixels.channels;
  info.in_color_space =
      pixels.channels == 1 ? JCS_GRAYSCALE : (pixels.channels == 3 ? JCS_RGB : JCS_CMYK);
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, kind.quality, TRUE);
  if (kind.progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  const std::size_t row = pixels.bytes.size() / static_cast<std::size_t>(pixels.height);
  while (info.next_scanline < info.image_height) {
    const char* bytes = pixels.bytes.data() + info.next_scanline * row;
    auto* line = const_cast<JSAMPROW>(reinterpret_cast<const JSAMPLE*>(bytes));
    jpeg_write_scanlines(&info, &line, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<const char*>(memory), size);
  std::free(memory);
  return file;
}

}  // namespace pipetrain::test
