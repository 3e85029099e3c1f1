// JPEG by libjpeg: baseline and progressive, grey, YCbCr, RGB, CMYK and YCCK.
//
// libjpeg reports a failure through a function that must not return, so that function leaves by
// longjmp. It may only jump over frames without destructors: between a setjmp and the library there
// are only the two small functions below, and their caller owns everything that must be freed.
#include <cstddef>
#include <cstdio>  // jpeglib.h needs it before

#include <jpeglib.h>

#include <jerror.h>
#include <spdlog/fmt/fmt.h>

#include <csetjmp>

#include "data/image/image_file.hpp"

namespace pipetrain {

namespace {

struct Jpeg {
  jpeg_decompress_struct info = {};
  jpeg_error_mgr errors = {};
  std::jmp_buf failed;
  char reason[JMSG_LENGTH_MAX] = "";

  Jpeg() { info.client_data = this; }
  ~Jpeg() { jpeg_destroy_decompress(&info); }  // safe for a zeroed struct too
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;
};

[[noreturn]] void fail(j_common_ptr info) {
  auto& jpeg = *static_cast<Jpeg*>(info->client_data);
  info->err->format_message(info, jpeg.reason);
  std::longjmp(jpeg.failed, 1);
}

// Most warnings mean that pixels are invented from here on. Other messages are ignored.
void on_message(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  const bool harmless = level >= 0 || code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM ||
                        code == JWRN_JFIF_MAJOR || code == JWRN_BOGUS_ICC;
  if (!harmless) fail(info);
}

bool read_header(Jpeg& jpeg, const std::uint8_t* bytes, std::size_t count) {
  if (setjmp(jpeg.failed)) return false;
  jpeg.info.err = jpeg_std_error(&jpeg.errors);
  jpeg.errors.error_exit = fail;
  jpeg.errors.emit_message = on_message;
  jpeg_create_decompress(&jpeg.info);
  jpeg_mem_src(&jpeg.info, bytes, static_cast<unsigned long>(count));
  jpeg_read_header(&jpeg.info, TRUE);
  return true;
}

bool read_pixels(Jpeg& jpeg, std::uint8_t* to, std::size_t row_bytes) {
  if (setjmp(jpeg.failed)) return false;
  jpeg_start_decompress(&jpeg.info);
  while (jpeg.info.output_scanline < jpeg.info.output_height) {
    JSAMPROW row = to + jpeg.info.output_scanline * row_bytes;
    jpeg_read_scanlines(&jpeg.info, &row, 1);
  }
  jpeg_finish_decompress(&jpeg.info);
  return true;
}

// The colour space to request from libjpeg, and how many channels that has.
J_COLOR_SPACE output_space(const Jpeg& jpeg) {
  switch (jpeg.info.jpeg_color_space) {
    case JCS_GRAYSCALE:
      return JCS_GRAYSCALE;
    case JCS_YCbCr:
    case JCS_RGB:
      return JCS_RGB;
    case JCS_CMYK:
    case JCS_YCCK:
      return JCS_CMYK;
    default:
      throw BadImage(fmt::format("a JPEG of {} components in an unknown colour space",
                                 jpeg.info.num_components));
  }
}
int channels_of(J_COLOR_SPACE space) {
  if (space == JCS_GRAYSCALE) return 1;
  return space == JCS_RGB ? 3 : 4;
}

// The values are inverted (255: no ink), as the programs that write such files store them.
Image rgb_of_cmyk(const Image& cmyk) {
  Image rgb{cmyk.height, cmyk.width, 3, {}};
  rgb.bytes.resize(cmyk.bytes.size() / 4 * 3);
  for (std::size_t i = 0; i < cmyk.bytes.size() / 4; ++i) {
    const std::uint8_t* ink = cmyk.bytes.data() + 4 * i;
    for (std::size_t c = 0; c < 3; ++c)
      rgb.bytes[3 * i + c] = static_cast<std::uint8_t>((ink[c] * ink[3] + 127) / 255);
  }
  return rgb;
}

}  // namespace

std::string version_of_libjpeg() {
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
  return fmt::format("turbo {}.{}.{}", LIBJPEG_TURBO_VERSION_NUMBER / 1000000,
                     LIBJPEG_TURBO_VERSION_NUMBER / 1000 % 1000,
                     LIBJPEG_TURBO_VERSION_NUMBER % 1000);
#else
  return fmt::format("{}", JPEG_LIB_VERSION);
#endif
}

Image decode_jpeg(std::span<const std::uint8_t> file) {
  Jpeg jpeg;
  const auto damaged = [&] { return BadImage(fmt::format("damaged JPEG: {}", jpeg.reason)); };
  if (!read_header(jpeg, file.data(), file.size())) throw damaged();
  const J_COLOR_SPACE space = output_space(jpeg);
  jpeg.info.out_color_space = space;
  Image image =
      image_of_size(jpeg.info.image_height, jpeg.info.image_width, channels_of(space), file.size());
  const std::size_t row_bytes =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  if (!read_pixels(jpeg, image.bytes.data(), row_bytes)) throw damaged();
  return space == JCS_CMYK ? rgb_of_cmyk(image) : image;
}

}  // namespace pipetrain
