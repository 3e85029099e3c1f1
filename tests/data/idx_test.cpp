// IDX files, plain and gzip: values, ranges, and each way in which a file can be wrong.
#include "catch.hpp"
#include "data_files.hpp"
#include "graph/graph.hpp"
#include "places.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

const Graph two_by_two = model({{1, 2, 2}}, {{3}});
const std::string images =
    idx({3, 2, 2}, std::string("\x00\x01\x02\x03\x10\x20\x40\x80\xff\xfe\x7f\x33", 12));
const std::string three_labels = idx({3}, std::string("\x02\x00\x01", 3));

struct IdxFiles {
  Folder folder;
  DataConfig config;
  IdxFiles(const std::string& image_bytes, const std::string& label_bytes) {
    config.kind = DataKind::Idx;
    config.batch_size = 1;
    config.train_images = folder.write("images", image_bytes);
    config.train_labels = folder.write("labels", label_bytes);
  }
  Datasets open(const Graph& graph = two_by_two) const { return open_datasets(config, graph, 1); }
};

}  // namespace

TEST_CASE("idx: images become x / 255, labels stay", "[idx]") {
  const IdxFiles written(images, three_labels);
  const Datasets data = written.open();
  CHECK(data.validation == nullptr);
  REQUIRE(data.train->size() == 3);
  CHECK(data.train->classes() == 3);
  CHECK(data.train->input_shape() == Shape{{1, 2, 2}});
  CHECK(sample(*data.train, 0) == ReadSample{{0, 1 / 255.0f, 2 / 255.0f, 3 / 255.0f}, 2, {}});
  CHECK(sample(*data.train, 2) == ReadSample{{1, 254 / 255.0f, 127 / 255.0f, 51 / 255.0f}, 1, {}});
}

TEST_CASE("idx: gzip equals plain, whatever the name", "[idx]") {
  const IdxFiles plain(images, three_labels), packed(gzipped(images), gzipped(three_labels));
  const Datasets a = plain.open(), b = packed.open();
  for (std::int64_t i = 0; i < 3; ++i) CHECK(sample(*a.train, i) == sample(*b.train, i));
}

TEST_CASE("idx: a model may take grey images without their channel, or flat samples", "[idx]") {
  const IdxFiles written(images, three_labels);
  CHECK(written.open(model({{2, 2}}, {{3}})).train->input_shape() == Shape{{2, 2}});
  const IdxFiles flat(idx({3, 4}, std::string(12, 'x')), three_labels);
  CHECK(flat.open(model({{4}}, {{3}})).train->input_shape() == Shape{{4}});
  const IdxFiles colour(idx({3, 2, 1, 2}, std::string(12, 'x')), three_labels);
  CHECK(colour.open(model({{2, 1, 2}}, {{3}})).train->size() == 3);
}

TEST_CASE("idx: ranges cut one pair of files into train and validation", "[idx]") {
  IdxFiles written(images, three_labels);
  written.config.train_range = SampleRange{0, 2};
  written.config.validation_range = SampleRange{2, 3};
  const Datasets data = written.open();
  REQUIRE(data.validation);
  CHECK(data.train->size() == 2);
  CHECK(data.validation->size() == 1);
  CHECK(sample(*data.train, 0).target_class == 2);
  CHECK(sample(*data.validation, 0) ==
        ReadSample{{1, 254 / 255.0f, 127 / 255.0f, 51 / 255.0f}, 1, {}});
}

TEST_CASE("idx: validation files of their own, whole or in part", "[idx]") {
  IdxFiles written(images, three_labels);
  written.config.validation_images =
      written.folder.write("v", idx({2, 2, 2}, std::string(8, '\xff')));
  written.config.validation_labels =
      written.folder.write("w", idx({2}, std::string("\x01\x02", 2)));
  CHECK(written.open().validation->size() == 2);
  written.config.validation_range = SampleRange{1, 2};
  const Datasets data = written.open();
  REQUIRE(data.validation->size() == 1);
  CHECK(sample(*data.validation, 0) == ReadSample{{1, 1, 1, 1}, 2, {}});
  written.config.validation_labels.clear();
  CHECK(contains(message_of<UsageError>([&] { written.open(); }),
                 "data.validation_labels is missing"));
}

TEST_CASE("idx: a damaged file is refused with what was found", "[idx]") {
  struct Row {
    const char* name;
    std::string images, labels;
    std::vector<std::string> words;
  };
  const std::string packed = gzipped(images), packed_labels = gzipped(three_labels);
  std::string wrong_sum = packed;
  wrong_sum[wrong_sum.size() - 6] ^= 0x55;
  const std::uint32_t huge = 0xffffffff;
  const std::vector<Row> rows = {
      {"empty",
       "",
       three_labels,
       {"images: ", "reading the magic number of an IDX file takes 4 bytes", "truncated"}},
      {"three bytes", images.substr(0, 3), three_labels, {"4 bytes", "at most 3"}},
      {"no dimensions", images.substr(0, 4), three_labels, {"the size of dimension 0"}},
      {"dimensions end early",
       images.substr(0, 13),
       three_labels,
       {"the size of dimension 2", "at most 1 "}},
      {"no elements", images.substr(0, 16), three_labels, {"[3, 2, 2]", "12 bytes", "at most 0"}},
      {"one byte short",
       images.substr(0, images.size() - 1),
       three_labels,
       {"12 bytes", "at most 11"}},
      {"one byte too many", images + "x", three_labels, {"left over", "12 bytes"}},
      {"a text file", "hello world, hello world", three_labels, {"68 65 6c 6c", "00 00 08"}},
      {"little-endian magic", "\x03\x08" + std::string(30, '\0'), three_labels, {"03 08 00 00"}},
      {"signed bytes",
       idx({3, 2, 2}, std::string(12, 'x'), 9),
       three_labels,
       {"0x09", "signed bytes", "0x08"}},
      {"32-bit floats",
       idx({3, 2, 2}, std::string(48, 'x'), 0x0D),
       three_labels,
       {"0x0d", "32-bit floats"}},
      {"unknown type",
       idx({3, 2, 2}, std::string(12, 'x'), 0x7f),
       three_labels,
       {"0x7f", "not an IDX type"}},
      {"no dimension at all", idx({}, ""), three_labels, {"claims 0 dimensions"}},
      {"nine dimensions",
       idx({1, 1, 1, 1, 1, 1, 1, 1, 1}, "x"),
       three_labels,
       {"claims 9 dimensions", "1 to 4"}},
      {"no samples", idx({0, 2, 2}, ""), three_labels, {"dimension 0 has size 0"}},
      {"empty images", idx({3, 0, 2}, ""), three_labels, {"dimension 1 has size 0"}},
      {"terabytes", idx({huge, 28, 28}, "xx"), three_labels, {"3367254359280 bytes", "at most 2"}},
      {"more than 64 bits",
       idx({huge, huge, huge, huge}, "xx"),
       three_labels,
       {"18446744073709551615 bytes"}},
      {"terabytes, packed",
       gzipped(idx({huge, 28, 28}, "xx")),
       three_labels,
       {"3367254359280 bytes"}},
      {"packed and short",
       gzipped(images.substr(0, 20)),
       three_labels,
       {"12 bytes", "only 4 are left"}},
      {"packed, bytes left over", gzipped(images + "x"), three_labels, {"left over"}},
      {"gzip cut in its data",
       packed.substr(0, packed.size() - 12),
       three_labels,
       {"gzip", "truncated"}},
      {"gzip cut in its sum",
       packed.substr(0, packed.size() - 3),
       three_labels,
       {"gzip", "truncated"}},
      {"gzip with a wrong sum", wrong_sum, three_labels, {"gzip", "damaged"}},
      {"two labels", images, idx({2}, "\x01\x01"), {"images has 3 samples", "labels has 2 labels"}},
      {"four labels", images, idx({4}, "\x01\x01\x01\x01"), {"3 samples", "4 labels"}},
      {"labels are images", images, images, {"labels: ", "labels have 1 dimension", "has 3"}},
      {"images are labels", three_labels, three_labels, {"images: ", "these are labels"}},
      {"a label too large",
       images,
       idx({3}, std::string("\x00\x03\x01", 3)),
       {"labels: ", "sample 1 is 3", "3 outputs", "0..2"}},
      {"labels cut",
       images,
       three_labels.substr(0, three_labels.size() - 1),
       {"labels: ", "3 bytes"}},
      {"labels cut, packed", images, packed_labels.substr(0, 12), {"labels: ", "gzip"}},
  };
  for (const Row& row : rows) {
    const IdxFiles written(row.images, row.labels);
    const std::string message = message_of<DataError>([&] { written.open(); });
    INFO(row.name << ": " << message);
    for (const std::string& word : row.words) CHECK(contains(message, word));
  }
}

TEST_CASE("idx: files that are missing, or not files", "[idx]") {
  IdxFiles written(images, three_labels);
  written.config.train_labels = written.folder / "absent";
  CHECK(contains(message_of<DataError>([&] { written.open(); }), "absent: no such file"));
  written.config.train_labels = written.folder / "";
  CHECK(contains(message_of<DataError>([&] { written.open(); }), "this is not a file"));
  written.config.train_labels.clear();
  CHECK(contains(message_of<UsageError>([&] { written.open(); }), "data.train_labels is missing"));
}

TEST_CASE("idx: what does not fit the model is refused with both sides", "[idx]") {
  const IdxFiles written(images, three_labels);
  const auto refusal = [&](const Graph& graph) {
    return message_of<UsageError>([&] { written.open(graph); });
  };
  const std::string shape = refusal(model({{3, 32, 32}}, {{3}}));
  CHECK(contains(shape, "[1, 2, 2]"));
  CHECK(contains(shape, "[3, 32, 32]"));
  CHECK(contains(refusal(model({{1, 2, 2}}, {{3}}, Loss::Mse)), "loss is mse"));
}

TEST_CASE("MNIST reads as it is", "[idx]") {
  const std::filesystem::path folder = extras() / "data/mnist-10k";
  if (!std::filesystem::exists(folder)) {
    WARN("skipped: no data/mnist-10k in PIPETRAIN_EXTRAS");
    return;
  }
  DataConfig config;
  config.kind = DataKind::Idx;
  config.train_images = folder / "t10k-images-idx3-ubyte.gz";
  config.train_labels = folder / "t10k-labels-idx1-ubyte.gz";
  config.train_range = SampleRange{0, 8000};
  config.validation_range = SampleRange{8000, 10000};
  const Datasets data = open_datasets(config, model({{1, 28, 28}}, {{10}}), 1);
  CHECK(data.train->size() == 8000);
  CHECK(data.validation->size() == 2000);
  CHECK(sample(*data.train, 0).target_class == 7);  // the test set begins 7, 2, 1, 0, 4
  CHECK(sample(*data.train, 4).target_class == 4);
  double sum = 0;
  for (std::int64_t i = 0; i < 8000; ++i)
    for (const float x : sample(*data.train, i).input) sum += x;
  CHECK(sum / (8000 * 784) == Approx(0.1325).margin(0.003));
}
