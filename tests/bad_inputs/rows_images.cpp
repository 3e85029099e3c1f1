// IDX, CIFAR and gzip files that are missing, cut short, of another kind, or inconsistent.
#include "data/data_files.hpp"
#include "files.hpp"
#include "row.hpp"

using namespace pipetrain::test;

namespace {

Row images(const std::string& name, const std::string& bytes, std::vector<std::string> words) {
  words.insert(words.begin(), "images.idx");
  return {name, {{"images.idx", bytes}}, "train tiny.toml --dry-run", 3, std::move(words), true};
}
Row labels(const std::string& name, const std::string& bytes, std::vector<std::string> words) {
  words.insert(words.begin(), "labels.idx");
  return {name, {{"labels.idx", bytes}}, "train tiny.toml --dry-run", 3, std::move(words), true};
}
Row cifar(const std::string& name, const std::string& bytes, std::vector<std::string> words) {
  words.insert(words.begin(), "batch.bin");
  return {name, {{"batch.bin", bytes}}, "train c10.toml --dry-run", 3, std::move(words), true};
}

std::string packed() { return gzipped(good_images()); }

}  // namespace

std::vector<Row> image_rows() {
  const std::string head(
      "\0\0\x08\x03"
      "\x7f\xff\xff\xff"
      "\x7f\xff\xff\xff"
      "\x7f\xff\xff\xff",
      16);
  return {
      {"an idx file that is not there",
       {{"bad.toml", "[data]\ntrain_images = \"none.idx\"\n"}},
       "train tiny.toml bad.toml",
       3,
       {"none.idx", "no such file"}},
      {"a data set that nobody fetched",
       {{"datasets/nine-digits.toml", "[data]\nkind = \"idx\"\n"},
        {"bad.toml", "[data]\ntrain_images = \"datasets/nine-digits/images.idx.gz\"\n"}},
       "train tiny.toml bad.toml",
       2,
       {"data.train_images", "datasets/nine-digits/images.idx.gz is missing",
        "scripts/fetch-dataset nine-digits", "PIPETRAIN_DATASETS"}},
      {"a data set that is missing in PIPETRAIN_DATASETS too",
       {{"datasets/nine-digits.toml", "[data]\nkind = \"idx\"\n"},
        {"others/", ""},
        {"bad.toml", "[data]\ntrain_labels = \"datasets/nine-digits/labels.idx\"\n"}},
       "train tiny.toml bad.toml --dry-run",
       2,
       {"data.train_labels", "(others) has no such file", "scripts/fetch-dataset nine-digits"},
       false,
       "export PIPETRAIN_DATASETS=others; "},
      {"one label for a prediction at each row of an image",
       {{"bad.toml",
         "[model]\ninput = { shape = [2, 2] }\n"
         "layers = [{ name = \"fc\", kind = \"linear\", out_features = 3 }]\n"}},
       "train tiny.toml bad.toml --dry-run",
       2,
       {"labels.idx", "a sample has one label", "[2, 3]", "each of 2 positions", "flatten"}},
      {"an idx file that is a folder",
       {{"bad.toml", "[data]\ntrain_images = \"folder\"\n"}, {"folder/", ""}},
       "train tiny.toml bad.toml",
       3,
       {"folder", "not a file"}},
      images("an empty idx file", "", {"truncated"}),
      images("an idx file of 3 bytes", std::string(3, '\0'), {"magic number", "at most 3"}),
      images("an idx file of another magic", "PNG" + good_images(),
             {"begins with the bytes 50 4e 47", "00 00 08"}),
      images("idx elements of another type", with_byte(good_images(), 2, 0x0d),
             {"0x0d", "32-bit floats", "0x08"}),
      images("idx of no dimensions", with_byte(good_images(), 3, 0), {"claims 0 dimensions"}),
      images("idx of 200 dimensions", with_byte(good_images(), 3, 200),
             {"claims 200 dimensions", "1 to 4"}),
      images("an idx dimension of 0", idx({6, 0, 2}, ""), {"dimension 1 has size 0"}),
      images("an idx file cut short", less(good_images(), 1), {"24 bytes", "truncated"}),
      images("an idx file with bytes left over", good_images() + "x", {"left over"}),
      images("an idx header that claims 10^28 bytes", head, {"truncated or its header is damaged"}),
      images("a gzipped idx header that claims 10^28 bytes", gzipped(head + std::string(1000, 'x')),
             {"truncated or its header is damaged"}),
      images("an idx header that claims 4 GiB", idx({65535, 256, 256}, std::string(100, 'x')),
             {"4294901760 bytes", "truncated"}),
      images("a gzip stream cut short", less(packed(), 9),
             {"gzip data ends early", "copy it again"}),
      images("a gzip stream without its end", less(packed(), 4), {"gzip"}),
      images("a gzip stream with a wrong sum", with_byte(packed(), packed().size() - 6, 0x55),
             {"gzip data is damaged", "copy it again"}),
      images("a gzip stream of garbage", packed().substr(0, 10) + std::string(40, '\xff'),
             {"gzip data is damaged"}),
      images("garbage after a gzip stream", packed() + "garbage", {"after the gzip data"}),
      labels("labels out of range", idx({6}, std::string("\0\1\2\3\1\2", 6)),
             {"sample 3 is 3", "3 outputs", "0..2"}),
      labels("fewer labels than images", idx({5}, std::string(5, '\0')), {"6 samples", "5 labels"}),
      labels("images for labels", good_images(), {"are the two files swapped?"}),
      {"images of another shape",
       {{"images.idx", idx({6, 3, 3}, std::string(54, 'x'))}},
       "train tiny.toml --dry-run",
       2,
       {"images.idx", "[1, 3, 3]", "[1, 2, 2]"}},
      cifar("an empty cifar file", "", {"empty"}),
      cifar("a cifar file cut short", std::string(3 * 3073 - 1, '\1'),
            {"2 records of 3073 bytes", "3072 bytes too many"}),
      cifar("a cifar file with bytes left over", std::string(3073 + 7, '\1'), {"7 bytes too many"}),
      cifar("cifar100's file as cifar10", std::string(3074 * 2, '\1'),
            {"too many", "kind = \"cifar100\""}),
      cifar("a cifar label out of range", with_byte(std::string(2 * 3073, '\1'), 3073, 10),
            {"sample 1 is 10", "0..9"}),
      cifar("a gzipped cifar file cut short", less(gzipped(std::string(3073, '\1')), 9),
            {"gzip data ends early"}),
      cifar("a cifar archive that was not unpacked",
            gzipped("cifar-10-batches-bin/" + std::string(10219, '\0')), {"too many"}),
      {"cifar10's file as cifar100",
       {{"train.bin", std::string(3073 * 2, '\1')}},
       "train c100.toml --dry-run",
       3,
       {"train.bin", "kind = \"cifar10\""}},
      {"cifar100's fine label out of range",
       {{"train.bin", with_byte(std::string(3074, '\1'), 1, 100)}},
       "train c100.toml --dry-run",
       3,
       {"sample 0 is 100", "fine labels"}},
      {"cifar files of which one is not there",
       {{"bad.toml", "[data]\ntrain_files = [\"batch.bin\", \"b2.bin\"]\n"}},
       "train c10.toml bad.toml --dry-run",
       3,
       {"b2.bin", "no such file"}},
      {"cifar for a model of digits",
       {{"bad.toml", "[data]\nkind = \"cifar10\"\ntrain_files = \"batch.bin\"\n"}},
       "train base.toml bad.toml --dry-run",
       2,
       {"[3, 32, 32]", "[1, 28, 28]"}},
  };
}
