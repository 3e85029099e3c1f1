// The good inputs that rows spoil.
#include "data/data_files.hpp"
#include "data/made_images.hpp"
#include "files.hpp"
#include "row.hpp"

using namespace pipetrain::test;

namespace {

const std::string head = R"([optimizer]
lr = 0.1
[training]
steps = 3
[model]
name = "small"
)";

std::string layers(const std::string& outputs) {
  return "[[model.layers]]\nname = \"flatten\"\nkind = \"flatten\"\n"
         "[[model.layers]]\nname = \"fc1\"\nkind = \"linear\"\nout_features = 5\n"
         "[[model.layers]]\nname = \"relu1\"\nkind = \"relu\"\n"
         "[[model.layers]]\nname = \"fc2\"\nkind = \"linear\"\nout_features = " +
         outputs + "\n";
}

std::string config_text(const std::string& shape, const std::string& outputs,
                        const std::string& rest) {
  return head + "input = { shape = " + shape + " }\n" + layers(outputs) + rest;
}

std::string bigrams(const std::string& data) {
  return head +
         "input = { tokens = 3, vocabulary = 4 }\n"
         "[[model.layers]]\nname = \"wte\"\nkind = \"embedding\"\nembedding_dim = 2\n"
         "[[model.layers]]\nname = \"head\"\nkind = \"linear\"\nout_features = 4\n"
         "[hardware]\nbackend = \"reference\"\n"
         "[data]\nbatch_size = 2\n" +
         data;
}

// Reads sentences of up to 15 pieces, and the piece that ends them.
std::string translation(const std::string& data) {
  return head +
         "input = { source = 16, target = 16, vocabulary = 22 }\n"
         "[[model.layers]]\nname = \"read\"\nkind = \"embedding\"\nembedding_dim = 2\n"
         "inputs = [\"source\"]\n"
         "[[model.layers]]\nname = \"keys\"\nkind = \"linear\"\nout_features = 4\n"
         "[[model.layers]]\nname = \"write\"\nkind = \"embedding\"\nembedding_dim = 2\n"
         "inputs = [\"target\"]\n"
         "[[model.layers]]\nname = \"cross\"\nkind = \"attention\"\nheads = 1\npadding = 0\n"
         "inputs = [\"write\", \"keys\", \"source\"]\n"
         "[[model.layers]]\nname = \"head\"\nkind = \"linear\"\nout_features = 22\n"
         "[hardware]\nbackend = \"reference\"\n"
         "[data]\nkind = \"parallel_text\"\nbatch_size = 2\n" +
         data;
}

}  // namespace

std::vector<InputFile> base_files() {
  const std::string fc = "input = { shape = [2] }\n[[layers]]\nname = \"fc\"\nkind = \"linear\"\n";
  return {
      {"base.toml",
       config_text("[1, 28, 28]", "10",
                   "[data]\nkind = \"glyphs\"\ntrain_samples = 32\nvalidation_samples = 8\n"
                   "batch_size = 8\n")},
      {"tiny.toml", config_text("[1, 2, 2]", "3",
                                "[data]\nkind = \"idx\"\ntrain_images = \"images.idx\"\n"
                                "train_labels = \"labels.idx\"\nbatch_size = 2\n")},
      {"images.idx", good_images()},
      {"labels.idx", good_labels()},
      {"array.toml", config_text("[4]", "3",
                                 "[data]\nkind = \"npy\"\ntrain_inputs = \"x.npy\"\n"
                                 "train_labels = \"y.npy\"\nbatch_size = 2\n")},
      {"x.npy", npy(npy_header("<f4", "(6, 4)"), raw(std::vector<float>(24, 0.5f)))},
      {"y.npy", npy(npy_header("<i8", "(6,)"), raw(std::vector<std::int64_t>{0, 1, 2, 0, 1, 2}))},
      {"c10.toml", config_text("[3, 32, 32]", "10",
                               "[data]\nkind = \"cifar10\"\ntrain_files = \"batch.bin\"\n"
                               "batch_size = 2\n")},
      {"batch.bin", std::string(3 * 3073, '\1')},
      {"c100.toml", config_text("[3, 32, 32]", "100",
                                "[data]\nkind = \"cifar100\"\ntrain_files = \"train.bin\"\n"
                                "batch_size = 2\n")},
      {"train.bin", std::string(3 * 3074, '\1')},
      {"folder.toml", config_text("[3, 8, 8]", "3",
                                  "[data]\nkind = \"image_folder\"\ntrain_folder = \"pictures\"\n"
                                  "batch_size = 4\nshuffle = false\n")},
      {"pictures/a/1.png", png_file(counted(8, 8, 3))},
      {"pictures/a/2.jpg", jpeg_file(counted(8, 8, 3))},
      {"pictures/b/3.png", png_file(counted(8, 8, 1))},
      {"pictures/b/4.jpeg", jpeg_file(counted(8, 8, 4))},
      {"text.toml", bigrams("kind = \"text\"\ntrain_text = \"a.txt\"\n")},
      {"a.txt", "abcdabcdab"},
      {"tokens.toml", bigrams("kind = \"tokens\"\ntrain_tokens = \"a.bin\"\n")},
      {"a.bin", raw(std::vector<std::uint16_t>{0, 1, 2, 3, 0, 1, 2, 3, 0, 1})},
      {"pairs.toml", translation("train_source = \"a.de\"\ntrain_target = \"a.en\"\n")},
      {"a.de", "ein Hund\nzwei Hunde\n\nein Mann\n"},
      {"a.en", "a dog\ntwo dogs\na cat\na man\n"},
      {"fc.toml", fc + "out_features = 3\n"},
      {"good.safetensors", good_weights()},
      {"weights.toml",
       "[model]\nfile = \"fc.toml\"\ninit = \"good.safetensors\"\n"
       "[data]\nkind = \"synthetic\"\ntrain_samples = 8\nvalidation_samples = 0\n"
       "batch_size = 4\n"},
  };
}
