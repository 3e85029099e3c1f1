// Pieces: what a model trained here reads and writes, the same model from the same text, and what
// is refused.
#include "data/text/pieces.hpp"

#include <fstream>
#include <iterator>

#include "base/rng.hpp"
#include "catch.hpp"
#include "data/text/char_map.hpp"
#include "data/text/train_pieces.hpp"
#include "data_files.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

const std::string sentences =
    "the dog runs in the park\n"
    "a dog and a man run\n"
    "the man sits in the park\n"
    "two dogs are running in a park\n"
    "\n"
    "a man is sitting and the dogs run\n";

PieceTraining training(const std::filesystem::path& file, std::int64_t vocabulary = 28,
                       const std::string& kind = "unigram") {
  return {{file}, vocabulary, kind};
}

struct Learnt {
  Folder folder;
  std::string model;
  Pieces pieces;
  explicit Learnt(const std::string& kind = "unigram", const std::string& text = sentences)
      : model(train_pieces(training(folder.write("a.txt", text), 28, kind))),
        pieces(model, "a.model") {}
};

std::string file_text(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What sentencepiece_model.proto calls them. A field: its key, its length in two bytes, its bytes.
constexpr char spec_key = '\x1a', table_key = '\x12', self_test_key = '\x22', sample_key = '\x0a',
               input_key = '\x0a';

std::string field(char key, const std::string& bytes) {
  const std::size_t length = bytes.size();
  return std::string{key, static_cast<char>(0x80 | (length & 0x7f)),
                     static_cast<char>(length >> 7)} +
         bytes;
}

// A normalizer with a table of 256 units: the root leads to their block, "a" is a node with a leaf,
// whose string is the first.
std::string normalizer(std::uint32_t root, std::uint32_t node, std::uint32_t leaf,
                       const std::string& strings) {
  std::vector<std::uint32_t> trie(256);
  trie[0] = root;
  trie['a'] = node;
  trie[1] = leaf;  // where node leads: 'a' ^ ('a' ^ 1)
  return field(spec_key,
               field(table_key, raw(std::vector<std::uint32_t>{1024}) + raw(trie) + strings));
}

}  // namespace

TEST_CASE("pieces: the special ones are the first four", "[pieces]") {
  for (const std::string kind : {"unigram", "bpe"}) {
    const Learnt learnt(kind);
    CHECK(learnt.pieces.size() == 28);
    CHECK(learnt.pieces.pad() == 0);
    CHECK(learnt.pieces.unknown() == 1);
    CHECK(learnt.pieces.begin() == 2);
    CHECK(learnt.pieces.end() == 3);
    CHECK(learnt.pieces.spelling(3) == "</s>");
  }
}

TEST_CASE("pieces: a sentence comes back from its pieces, which are no more than its letters",
          "[pieces]") {
  for (const std::string kind : {"unigram", "bpe"}) {
    const Learnt learnt(kind);
    for (const std::string sentence :
         {"the dog runs in the park", "a park", "the man and two dogs"}) {
      const std::vector<Token> ids = learnt.pieces.encode(sentence);
      CHECK(ids.size() <= sentence.size());
      CHECK(std::ranges::all_of(ids, [](Token id) { return id > 3 && id < 28; }));
      CHECK(learnt.pieces.decode(ids) == sentence);
    }
  }
}

TEST_CASE("pieces: white space has no pieces, special pieces have no text", "[pieces]") {
  const Learnt learnt;
  CHECK(learnt.pieces.encode("").empty());
  CHECK(learnt.pieces.encode(" \t\u00a0").empty());
  CHECK(learnt.pieces.encode("  the   dog ") == learnt.pieces.encode("the dog"));
  std::vector<Token> ids = learnt.pieces.encode("the dog");
  ids.insert(ids.begin(), learnt.pieces.begin());
  ids.push_back(learnt.pieces.end());
  ids.push_back(learnt.pieces.pad());
  CHECK(learnt.pieces.decode(ids) == "the dog");
  CHECK(learnt.pieces.decode({}).empty());
}

TEST_CASE("pieces: a character that the text did not have is the unknown piece", "[pieces]") {
  const Learnt learnt;
  const std::vector<Token> ids = learnt.pieces.encode("the 犬");
  CHECK(std::ranges::count(ids, learnt.pieces.unknown()) == 1);
  CHECK(contains(learnt.pieces.decode(ids), "\u2047"));
}

TEST_CASE("pieces: every character of the text is a piece, however rare it is", "[pieces]") {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "the dog runs in the park\n";
  const Learnt learnt("unigram", text + sentences + "\u00e9\n");
  CHECK(learnt.pieces.decode(learnt.pieces.encode("\u00e9")) == "\u00e9");
}

TEST_CASE("pieces: a long line is learnt from like any other", "[pieces]") {
  std::string text = sentences;
  for (int i = 0; i < 600; ++i)
    text += "the \u00e9t\u00e9 ";  // 5 KB; the library's own limit is 4192 bytes
  const Learnt learnt("unigram", text + "\n");
  CHECK(learnt.pieces.decode(learnt.pieces.encode("\u00e9")) == "\u00e9");
}

TEST_CASE("pieces: the same text gives the same bytes, gzip or in two files or not", "[pieces]") {
  const Folder folder;
  const auto plain = folder.write("a.txt", sentences);
  const std::string model = train_pieces(training(plain));
  CHECK(train_pieces(training(plain)) == model);
  CHECK(train_pieces(training(folder.write("a.gz", gzipped(sentences)))) == model);
  const std::size_t middle = sentences.find("the man sits");
  const PieceTraining two{{folder.write("1.txt", sentences.substr(0, middle)),
                           folder.write("2.txt", sentences.substr(middle))},
                          28,
                          "unigram"};
  CHECK(train_pieces(two) == model);
  CHECK(train_pieces(training(plain, 28, "bpe")) != model);
}

TEST_CASE("pieces: a model reads back from its file, which comes whole or not at all", "[pieces]") {
  const Learnt learnt;
  const auto file = learnt.folder / "a.model";
  write_pieces(learnt.model, file);
  CHECK(file_text(file) == learnt.model);
  CHECK_FALSE(std::filesystem::exists(learnt.folder / "a.model.part"));
  const Pieces read = Pieces::read(file);
  CHECK(read.encode("the dogs") == learnt.pieces.encode("the dogs"));
  write_pieces("another", file);
  CHECK(file_text(file) == "another");
  const auto nowhere = learnt.folder / "none" / "a.model";
  const auto said = message_of<DeviceError>([&] { write_pieces(learnt.model, nowhere); });
  CHECK(contains(said, nowhere.string()));
  CHECK(contains(said, "No such file"));
}

TEST_CASE("pieces: tables of characters, by hand", "[pieces]") {
  const std::string strings("b\0", 2);
  const std::uint32_t root = 0, node = ('a' ^ 1u) << 10 | 1u << 8 | 'a', leaf = 1u << 31;
  CHECK(char_maps_hold(""));
  CHECK(char_maps_hold(normalizer(root, node, leaf, strings)));
  CHECK_FALSE(
      char_maps_hold(normalizer(256u << 10, node, leaf, strings)));  // out of the trie at once
  CHECK_FALSE(char_maps_hold(normalizer(root, node | 256u << 10, leaf, strings)));  // after an "a"
  CHECK_FALSE(char_maps_hold(normalizer(root, node, leaf | 2, strings)));      // no such string
  CHECK_FALSE(char_maps_hold(normalizer(root, node, leaf, "b")));              // that does not end
  CHECK(char_maps_hold(normalizer(root, node | 1u << 7, leaf | 2, strings)));  // never reached
  const std::string cut = normalizer(root, node, leaf, strings);
  CHECK_FALSE(char_maps_hold(cut.substr(0, cut.size() - 1)));
}

TEST_CASE("pieces: a file that is not a model is refused by name", "[pieces]") {
  const Learnt learnt;
  for (const std::string& bytes :
       {std::string(), std::string("no model"), learnt.model.substr(0, learnt.model.size() / 2),
        std::string(100, '\xff')}) {
    const auto file = learnt.folder.write("b.model", bytes);
    CAPTURE(bytes.size());
    CHECK(contains(message_of<DataError>([&] { Pieces::read(file); }), "b.model: "));
  }
  CHECK(contains(message_of<DataError>([] { Pieces::read("not there"); }), "not there"));
}

TEST_CASE("pieces: a model is refused before it is loaded, which would encode its own samples",
          "[pieces]") {
  const Learnt learnt;
  const std::string sample = field(self_test_key, field(sample_key, field(input_key, "a dog")));
  const std::uint32_t far = 0x1fffffu << 10 | 1u << 9;
  CHECK_THROWS_AS(Pieces(learnt.model + normalizer(far, 0, 0, {"b\0", 2}) + sample, "damaged"),
                  DataError);
}

TEST_CASE("pieces: a damaged model is refused, or still reads sentences", "[pieces]") {
  const Learnt learnt;
  const std::string sentence =
      "the dog\u00e9 \u212b\uff21\u3000\u00bd man \x01 \u0e33\u1e9b\u0323 \U0001f600";
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed, "damage");
    std::string model = learnt.model;
    for (int i = 0; i < 8; ++i)
      model[random.below(model.size())] ^= static_cast<char>(1 + random.below(255));
    try {
      const Pieces pieces(model, "damaged");
      pieces.decode(pieces.encode(sentence));
    } catch (const DataError&) {
      ++refused;
    }
  }
  CHECK(refused > 25);
}

TEST_CASE("pieces: a model with <s> twice is refused by the sentence that it cannot encode",
          "[pieces]") {
  using namespace std::string_literals;
  std::string model = Learnt("bpe").model;
  model += "\n\x09\n\x02s>\x15\0\0\x80\xbf"s;  // a piece "s>" of -1
  model += "\n\n\n\x03<s>\x15\0\0\xc0\xc0"s;   // a piece "<s>" of -6; the first is for control
  const Pieces pieces(model, "a.model");
  CHECK_FALSE(pieces.encode("the dog").empty());
  const std::string message = message_of<DataError>([&] { pieces.encode("the <s>"); });
  CHECK(contains(message, "a.model: "));
  CHECK(contains(message, "cannot encode a sentence"));
}

TEST_CASE("pieces: what cannot be learnt is refused with the bound", "[pieces]") {
  const Folder folder;
  const auto text = folder.write("a.txt", sentences);
  const auto refused = [&](std::int64_t vocabulary, const std::string& kind) {
    return message_of<UsageError>([&] { train_pieces(training(text, vocabulary, kind)); });
  };
  for (const std::string kind : {"unigram", "bpe"}) {
    const std::string many = refused(5000, kind);
    CHECK(contains(many, "a.txt: 5000 pieces are more than this text has"));
    const std::size_t at = many.find("at most ");
    REQUIRE(at != std::string::npos);
    const std::int64_t most = std::stoll(many.substr(at + 8));
    CHECK(Pieces(train_pieces(training(text, most, kind)), "most").size() == most);
    CHECK(contains(refused(10, kind), "10 pieces are too few"));
  }
  CHECK(contains(refused(40, "unigramm"), "did you mean 'unigram'?"));
  CHECK(contains(refused(4, "unigram"), "from 5 to 65536"));
  CHECK(contains(refused(65537, "bpe"), "from 5 to 65536"));
}

TEST_CASE("pieces: texts that cannot be read or hold nothing are refused by name", "[pieces]") {
  const Folder folder;
  const auto refused = [&](const std::string& text) {
    const auto file = folder.write("c.txt", text);
    return message_of<DataError>([&] { train_pieces(training(file)); });
  };
  CHECK(contains(refused(""), "c.txt: there is no text"));
  CHECK(contains(refused("\n \n\t\n"), "c.txt: there is no text"));
  CHECK(contains(refused("a b\nc \xff\n"), "c.txt:2: invalid UTF-8: byte 2 of the line is 0xff"));
  CHECK(contains(message_of<DataError>([&] { train_pieces(training(folder / "d")); }),
                 "no such file"));
}
