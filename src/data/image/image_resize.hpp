// Resizes an image: bilinear with antialiasing, the same bytes as PIL's Image.resize(BILINEAR),
// which torchvision's transforms use.
#pragma once

#include "data/image/image_file.hpp"

namespace pipetrain {

struct ImageBox {  // a part of an image
  int top = 0, left = 0, height = 0, width = 0;
};

Image cut_out(const Image& image, const ImageBox& box);
// To `height` x `width`, each at least 1. BadImage, before anything is allocated, if the result
// would have more than 2^25 pixels or a side above 65,535.
Image resized(Image image, int height, int width);
// The shorter side becomes `side`; the longer one keeps the proportion, rounded down. BadImage as
// above, for instance for an image that is one long line.
Image resized_shorter_side(Image image, int side);

}  // namespace pipetrain
