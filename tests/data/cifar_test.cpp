// CIFAR's binary files: values, planes, both label bytes, several files as one, and each way in
// which a file can be wrong.
#include "catch.hpp"
#include "data_files.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

const Graph ten = model({{3, 32, 32}}, {{10}}), hundred = model({{3, 32, 32}}, {{100}});

// A record whose pixel p of the planes is (first + p) % 256.
std::string record(const std::string& labels, int first) {
  std::string bytes = labels;
  for (int p = 0; p < 3072; ++p) bytes += static_cast<char>(first + p);
  return bytes;
}
std::string label(int value) { return std::string(1, static_cast<char>(value)); }

struct CifarFiles {
  Folder folder;
  DataConfig config;
  explicit CifarFiles(const std::vector<std::string>& files, const std::string& kind = "cifar10") {
    config.kind = word_named<DataKind>(kind).value();
    config.batch_size = 1;
    for (std::size_t i = 0; i < files.size(); ++i)
      config.train_files.push_back(folder.write("batch_" + std::to_string(i), files[i]));
  }
  Datasets open(const Graph& graph = ten) const { return open_datasets(config, graph, 1); }
  template <class E>
  std::string refused(const Graph& graph = ten) const {
    return message_of<E>([&] { open(graph); });
  }
};

}  // namespace

TEST_CASE("cifar10: a label, then three planes of x / 255", "[cifar]") {
  const CifarFiles written({record(label(7), 0) + record(label(9), 5)});
  const Datasets data = written.open();
  CHECK(data.validation == nullptr);
  REQUIRE(data.train->size() == 2);
  CHECK(data.train->classes() == 10);
  CHECK(data.train->input_shape() == Shape{{3, 32, 32}});
  const ReadSample first = sample(*data.train, 0), second = sample(*data.train, 1);
  CHECK(first.target_class == 7);
  CHECK(second.target_class == 9);
  REQUIRE(first.input.size() == 3072);
  CHECK(first.input[0] == 0);
  CHECK(first.input[255] == 1);
  CHECK(first.input[1024 + 3] == 3 / 255.0f);  // the green plane begins at 1024
  CHECK(second.input[0] == 5 / 255.0f);
  CHECK(second.input[3071] == (5 + 3071) % 256 / 255.0f);
}

TEST_CASE("cifar100: fine or coarse labels of the same records", "[cifar]") {
  CifarFiles written({record(label(19) + label(99), 1) + record(label(0) + label(3), 2)},
                     "cifar100");
  const Datasets fine = written.open(hundred);
  CHECK(sample(*fine.train, 0).target_class == 99);
  CHECK(sample(*fine.train, 1).target_class == 3);
  CHECK(sample(*fine.train, 0).input[0] == 1 / 255.0f);
  written.config.labels = CifarLabels::Coarse;
  const Datasets coarse = written.open(model({{3, 32, 32}}, {{20}}));
  CHECK(sample(*coarse.train, 0).target_class == 19);
  CHECK(sample(*coarse.train, 1).target_class == 0);
  CHECK(sample(*coarse.train, 1).input[0] == 2 / 255.0f);
}

TEST_CASE("cifar: several files are one set, plain or packed", "[cifar]") {
  const std::string a = record(label(1), 0), b = record(label(2), 1) + record(label(3), 2);
  const std::string c = record(label(4), 3);
  CifarFiles written({a, gzipped(b), c});
  written.config.validation_files = {written.folder.write("test", gzipped(b))};
  const Datasets data = written.open();
  REQUIRE(data.train->size() == 4);
  for (int i = 0; i < 4; ++i) {
    CHECK(sample(*data.train, i).target_class == i + 1);
    CHECK(sample(*data.train, i).input[0] == static_cast<float>(i) / 255.0f);
  }
  REQUIRE(data.validation);
  CHECK(data.validation->size() == 2);
  CHECK(sample(*data.validation, 1) == sample(*data.train, 2));
}

TEST_CASE("cifar: crops, flips and scaling, of the training part alone but for scaling",
          "[cifar]") {
  CifarFiles written({record(label(1), 0) + record(label(2), 7)});
  written.config.validation_files = {written.folder.write("test", record(label(3), 0))};
  written.config.mean = {0, 0.5, 1};
  written.config.std = {1, 2, 4};
  const std::vector<float> plain = sample(*written.open().train, 0).input;
  CHECK(plain[3] == 3 / 255.0f);
  CHECK(plain[1024 + 3] == (3 / 255.0f - 0.5f) / 2);
  CHECK(plain[2048 + 3] == (3 / 255.0f - 1) / 4);
  written.config.flip = true;
  written.config.padding = 4;
  const Datasets data = written.open();
  CHECK(sample(*data.validation, 0, 5).input == plain);
  int different = 0;
  for (std::int64_t step = 0; step < 20; ++step) {
    const ReadSample read = sample(*data.train, 0, step);
    CHECK(read.target_class == 1);
    CHECK(read == sample(*written.open().train, 0, step));
    different += read.input != plain;
  }
  CHECK(different > 15);
  written.config.crop = {28, 0};
  CHECK(contains(written.refused<UsageError>(), "data.crop makes images of 28 x 28"));
}

TEST_CASE("cifar: a size that is not a multiple of the record", "[cifar]") {
  const CifarFiles longer({record(label(1), 0) + record(label(1), 0) + "12345"});
  const std::string message = longer.refused<DataError>();
  INFO(message);
  CHECK(contains(message, "batch_0"));
  CHECK(contains(message, "2 records"));
  CHECK(contains(message, "5 bytes too many"));
  CHECK(contains(message, "copy the file again"));
  CHECK(contains(CifarFiles({"x"}).refused<DataError>(), "1 byte too many"));
  CHECK(contains(CifarFiles({""}).refused<DataError>(), "empty"));
  CHECK(contains(CifarFiles({gzipped("")}).refused<DataError>(), "empty"));
}

TEST_CASE("cifar: the other kind's file is recognised", "[cifar]") {
  const CifarFiles hundreds({record(label(1) + label(2), 0)});
  CHECK(contains(hundreds.refused<DataError>(), "write kind = \"cifar100\""));
  const CifarFiles tens({record(label(1), 0)}, "cifar100");
  CHECK(contains(tens.refused<DataError>(hundred), "write kind = \"cifar10\""));
}

TEST_CASE("cifar: a label out of range is named with its sample", "[cifar]") {
  const std::string good = record(label(9), 0);
  const CifarFiles ten_labels({good, good + record(label(10), 0)});
  const std::string message = ten_labels.refused<DataError>();
  INFO(message);
  CHECK(contains(message, "batch_1"));
  CHECK(contains(message, "sample 1 is 10"));
  CHECK(contains(message, "0..9"));
  CifarFiles fine({record(label(0) + label(100), 0)}, "cifar100");
  CHECK(contains(fine.refused<DataError>(hundred), "fine labels of cifar100 are 0..99"));
  fine.config.labels = CifarLabels::Coarse;
  CHECK(fine.open(hundred).train->size() == 1);  // the other byte is good
  CifarFiles coarse({record(label(20) + label(0), 0)}, "cifar100");
  coarse.config.labels = CifarLabels::Coarse;
  CHECK(contains(coarse.refused<DataError>(hundred), "coarse labels of cifar100 are 0..19"));
}

TEST_CASE("cifar: what does not fit the model", "[cifar]") {
  const CifarFiles written({record(label(9), 0)});
  CHECK(contains(written.refused<UsageError>(model({{1, 28, 28}}, {{10}})), "[3, 32, 32]"));
  CHECK(contains(written.refused<UsageError>(model({{3, 32, 32}}, {{9}})), "out_features = 10"));
  CHECK(contains(written.refused<UsageError>(model({{3, 32, 32}}, {{10}}, Loss::Mse)), "mse"));
  const CifarFiles none(std::vector<std::string>{});
  CHECK(contains(none.refused<UsageError>(), "data.train_files is missing"));
  CifarFiles gone({});
  gone.config.train_files = {gone.folder / "no.bin"};
  CHECK(contains(gone.refused<DataError>(), "no such file"));
}
