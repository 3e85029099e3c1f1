// JPEG and PNG files for tests, written on the spot by libjpeg and libpng.
#pragma once

#include <string>

namespace pipetrain::test {

struct Pixels {  // [height, width, channels], a byte each; 16-bit PNG: two, the higher first
  int height = 1, width = 1, channels = 3;
  std::string bytes;
};

// Every value of pixel (y, x), channel c is start + 10 y + 3 x + 40 c, modulo 256.
Pixels counted(int height, int width, int channels, int start = 0);
Pixels plain(int height, int width, const std::string& colour);

struct PngKind {
  int bits = 8;  // a sample's
  bool interlaced = false;
  std::string palette = {};  // red, green, blue, ...: then the bytes are indices
};
// 1 channel is grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha.
std::string png_file(const Pixels& pixels, const PngKind& kind = {});

struct JpegKind {
  int quality = 95;
  bool progressive = false;
};
// 1 channel is grey, 3 RGB, 4 CMYK (as bytes: 255 is no ink).
std::string jpeg_file(const Pixels& pixels, const JpegKind& kind = {});

}  // namespace pipetrain::test
