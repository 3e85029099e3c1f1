// Class folders that are missing or empty, and JPEG and PNG files that are cut short, damaged, of
// another kind, or whose headers give a wrong size.
#include "data/data_files.hpp"
#include "data/made_images.hpp"
#include "files.hpp"
#include "row.hpp"

using namespace pipetrain::test;

namespace {

Row picture(const std::string& name, const std::string& file, const std::string& bytes,
            std::vector<std::string> words) {
  words.insert(words.begin(), "pictures/a/" + file);
  return {name, {{"pictures/a/" + file, bytes}}, "train folder.toml", 3, std::move(words), true};
}

Row set(const std::string& name, const std::string& keys, int code,
        std::vector<std::string> words) {
  return {name,
          {{"bad.toml", "[data]\n" + keys + "\n"}, {"nothing/", ""}, {"hollow/a/", ""}},
          "train folder.toml bad.toml --dry-run",
          code,
          std::move(words)};
}

std::string png() { return png_file(counted(8, 8, 3)); }
std::string jpeg() { return jpeg_file(counted(8, 8, 3)); }

// A PNG whose header claims another size, with the right checksum.
std::string png_of_sides(std::uint32_t width, std::uint32_t height) {
  const std::string ihdr = "IHDR" + big_endian(width) + big_endian(height) + png().substr(24, 5);
  const auto sum =
      crc32(0, reinterpret_cast<const Bytef*>(ihdr.data()), static_cast<unsigned>(ihdr.size()));
  return png().replace(12, 17, ihdr).replace(29, 4, big_endian(static_cast<std::uint32_t>(sum)));
}
std::string jpeg_of_sides(const std::string& sides) {
  std::string bytes = jpeg();
  return bytes.replace(bytes.find("\xff\xc0") + 5, 4, sides);
}

}  // namespace

std::vector<Row> image_folder_rows() {
  return {
      picture("an empty image", "1.png", "", {"the file is empty"}),
      {"a class folder that is empty and would move the cursor",
       {{"pictures/\x1b[31m/", ""}},
       "train folder.toml",
       3,
       {"pictures/\\u001b[31m: this class folder has no image"}},
      {"a class whose new name would move the cursor",
       {},
       "eval folder.toml --output run",
       3,
       {"label 0 was 'a' and is '\\u001ba' here", "new: \\u001ba"},
       false,
       "\"$PIPETRAIN_BINARY\" train folder.toml --quiet --output run; "
       "mv pictures/a \"pictures/$(printf '\\033')a\"; "},
      {"an image whose name would move the cursor",
       {{"pictures/a/\x1b[31m.png", "GIF89a...."}},
       "train folder.toml",
       3,
       {"pictures/a/\\u001b[31m.png", "neither JPEG nor PNG"}},
      picture("an image of another format", "1.png", "GIF89a....", {"neither JPEG nor PNG"}),
      picture("a PNG cut short", "1.png", less(png(), 30), {"damaged PNG", "ends early"}),
      picture("a PNG of a few bytes", "1.png", png().substr(0, 12), {"damaged PNG"}),
      picture("a PNG with a wrong sum", "1.png", with_byte(png(), 45, png()[45] ^ 4),
              {"damaged PNG"}),
      picture("a PNG that claims terabytes", "1.png", png_of_sides(900000, 900000),
              {"claims 900000 x 900000 pixels", "at most"}),
      picture("a PNG that claims 4 GB", "1.png", png_of_sides(40000, 40000),
              {"claims 40000 x 40000"}),
      picture("a JPEG cut short", "2.jpg", less(jpeg(), 40), {"damaged JPEG", "remature end"}),
      picture("a JPEG of its first bytes", "2.jpg", jpeg().substr(0, 20), {"damaged JPEG"}),
      picture("a JPEG that claims 4 GB", "2.jpg", jpeg_of_sides("\xff\xdc\xff\xdc"),
              {"claims 65500 x 65500 pixels"}),
      picture("a JPEG of no rows", "2.jpg", jpeg_of_sides(std::string("\0\0\0\x8", 4)),
              {"damaged JPEG"}),
      picture("an image smaller than the model's", "1.png", png_file(counted(7, 9, 3)),
              {"7 x 9 is smaller than the 8 x 8", "data.resize"}),
      {"a long image whose shorter side would grow",
       {{"pictures/a/1.png", png_file(plain(1, 1'000'000, std::string(3, '\7')))}},
       "train folder.toml --set data.resize=9",
       3,
       {"pictures/a/1.png", "9000000"},
       true},
      {"only bad images, and they are skipped",
       {{"pictures/a/1.png", "bad"},
        {"pictures/a/2.jpg", "bad"},
        {"pictures/b/3.png", "bad"},
        {"pictures/b/4.jpeg", "bad"}},
       "train folder.toml --set data.on_bad_image='\"skip\"'",
       3,
       {"none of its 4 images can be read"}},
      set("an image folder that is not there", "train_folder = \"none\"", 3,
          {"none: no such folder"}),
      set("an image folder that is a file", "train_folder = \"folder.toml\"", 3,
          {"folder.toml: this is not a folder"}),
      set("an image folder of no classes", "train_folder = \"nothing\"", 3,
          {"nothing: there are no class folders in it"}),
      set("a class folder of no images", "train_folder = \"hollow\"", 3,
          {"hollow/a: this class folder has no image"}),
      set("other classes to validate", "validation_folder = \".\"", 3, {"no such class folder"}),
      {"more class folders than outputs",
       {{"pictures/c/5.png", png()}, {"pictures/d/6.png", png()}},
       "train folder.toml --dry-run",
       2,
       {"4 class folders, but the model has 3 outputs", "out_features = 4"}},
      set("a crop of another size than the model's", "crop = 9", 2,
          {"data.crop makes images of 9 x 9", "[3, 8, 8]"}),
      set("as many means as there are no channels", "mean = [0, 0]", 2,
          {"data.mean has 2 numbers", "3 channels"}),
      set("images for a model of numbers", "[model]\ninput = { shape = [192] }", 2,
          {"the model's input is [192]"}),
  };
}
