// npy files: element types, ranges, and each way in which a file can be wrong.
#include "catch.hpp"
#include "data_files.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

namespace {

const std::vector<float> six_numbers = {0, 1, -2, 3.5f, 4, 1e-20f};
const std::string f4 = npy_header("<f4", "(3, 2)");
const std::string inputs = npy(f4, raw(six_numbers));
const std::string class_labels =
    npy(npy_header("<i8", "(3,)"), raw(std::vector<std::int64_t>{1, 0, 3}));
const Graph pairs = model({{2}}, {{4}});
const Graph regression = model({{2}}, {{1, 2}}, Loss::Mse);

struct NpyFiles {
  Folder folder;
  DataConfig config;
  NpyFiles(const std::string& input_bytes, const std::string& label_bytes) {
    config.kind = DataKind::Npy;
    config.batch_size = 1;
    config.train_inputs = folder.write("x.npy", input_bytes);
    config.train_labels = folder.write("y.npy", label_bytes);
  }
  Datasets open(const Graph& graph = pairs) const { return open_datasets(config, graph, 1); }
};

}  // namespace

TEST_CASE("npy: versions 1 to 3, either float and either integer give the same samples", "[npy]") {
  const std::string doubles = npy(npy_header("<f8", "(3, 2)"),
                                  raw(std::vector<double>(six_numbers.begin(), six_numbers.end())));
  const std::string shorts =
      npy(npy_header("<i4", "(3,)"), raw(std::vector<std::int32_t>{1, 0, 3}));
  const std::string header =
      R"({"shape":(3,2),"fortran_order":False,"descr":"<f4"})";  // other quotes, order and spaces
  for (const std::string& x : {inputs, npy(f4, raw(six_numbers), 2), npy(f4, raw(six_numbers), 3),
                               doubles, npy(header, raw(six_numbers)), gzipped(inputs),
                               npy(npy_header("<f4", "(3L, 2L)"), raw(six_numbers))})
    for (const std::string& y : {class_labels, shorts}) {
      const NpyFiles written(x, y);
      const Datasets data = written.open();
      REQUIRE(data.train->size() == 3);
      CHECK(data.train->classes() == 4);
      CHECK(sample(*data.train, 0) == ReadSample{{0, 1}, 1, {}});
      CHECK(sample(*data.train, 1) == ReadSample{{-2, 3.5f}, 0, {}});
      CHECK(sample(*data.train, 2) == ReadSample{{4, 1e-20f}, 3, {}});
    }
}

TEST_CASE("npy: under mse the targets are floats of the output's shape", "[npy]") {
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  const std::string targets = npy(npy_header("<f4", "(3, 1, 2)"), raw(values));
  const NpyFiles written(inputs, targets);
  const Datasets data = written.open(regression);
  CHECK(data.train->classes() == 0);
  CHECK(data.train->target_shape() == Shape{{1, 2}});
  CHECK(sample(*data.train, 2) == ReadSample{{4, 1e-20f}, -1, {5, 6}});
  const NpyFiles doubles(
      inputs, npy(npy_header("<f8", "(3, 1, 2)"), raw(std::vector<double>{1, 2, 3, 4, 5, 6})));
  CHECK(sample(*doubles.open(regression).train, 1).values == std::vector<float>{3, 4});
}

TEST_CASE("npy: ranges", "[npy]") {
  NpyFiles written(inputs, class_labels);
  written.config.train_range = SampleRange{1, 3};
  written.config.validation_range = SampleRange{0, 1};
  const Datasets data = written.open();
  CHECK(sample(*data.train, 0).target_class == 0);
  CHECK(sample(*data.validation, 0).target_class == 1);
  for (const SampleRange range : {SampleRange{-1, 2}, {2, 2}, {3, 1}, {0, 4}}) {
    written.config.train_range = range;
    const std::string message = message_of<UsageError>([&] { written.open(); });
    INFO(message);
    CHECK(contains(message, "data.train_range = ["));
    CHECK(contains(message, "3 samples"));
  }
  written.config.train_range.reset();
  written.config.validation_range = SampleRange{2, 9};
  CHECK(
      contains(message_of<UsageError>([&] { written.open(); }), "data.validation_range = [2, 9]"));
}

TEST_CASE("npy: a damaged file is refused with what was found", "[npy]") {
  struct Row {
    const char* name;
    std::string inputs;
    std::vector<std::string> words;
  };
  const std::string data = raw(six_numbers);
  std::string version = inputs, minor_length = inputs;
  version[6] = 9;
  minor_length[8] = '\xff', minor_length[9] = '\xff';
  std::string long_header = npy(f4, data, 2);
  long_header[11] = '\x70';
  const std::vector<Row> rows = {
      {"empty", "", {"x.npy: ", "magic string", "at most 0"}},
      {"a zip file", "PK\x03\x04" + std::string(100, 'x'), {"50 4b 03 04", "93 4e 55 4d 50 59"}},
      {"version 9", version, {"version is 9.0", "1.0 to 3.0"}},
      {"cut in the length", inputs.substr(0, 9), {"length of the NPY header"}},
      {"cut in the header", inputs.substr(0, 40), {"the NPY header", "truncated"}},
      {"a header longer than the file", minor_length, {"the NPY header takes 65535 bytes"}},
      {"a header of gigabytes", long_header, {"claims 18790", "1048576 is the limit"}},
      {"big-endian", npy(npy_header(">f4", "(3, 2)"), data), {"'>f4'", "'<f4'", "astype"}},
      {"half floats", npy(npy_header("<f2", "(3, 2)"), data), {"'<f2'"}},
      {"records",
       npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (3,), }", data),
       {"a quoted string", "records"}},
      {"Fortran order",
       npy("{'descr': '<f4', 'fortran_order': True, 'shape': (3, 2), }", data),
       {"Fortran order", "ascontiguousarray"}},
      {"no shape", npy("{'descr': '<f4', 'fortran_order': False, }", data), {"damaged", "'shape'"}},
      {"an unknown key", npy("{'descr': '<f4', 'colour': 1}", data), {"no key \"colour\""}},
      {"no brace", npy("'descr': '<f4'", data), {"expected {"}},
      {"an open brace", npy("{'descr': '<f4'", data), {"expected }"}},
      {"an open quote", npy("{'descr", data), {"a closing quote"}},
      {"no colon", npy("{'descr' '<f4'}", data), {"expected :"}},
      {"no boolean", npy("{'descr': '<f4', 'fortran_order': 0}", data), {"True or False"}},
      {"a negative size", npy(npy_header("<f4", "(-3, 2)"), data), {"a size below"}},
      {"a size of 80 bits",
       npy(npy_header("<f4", "(999999999999999999999999,)"), data),
       {"a size below"}},
      {"words after the brace", npy(f4 + " and more", data), {"nothing after"}},
      {"a single number", npy(npy_header("<f4", "()"), data), {"a single number"}},
      {"no samples", npy(npy_header("<f4", "(0, 2)"), ""), {"(0, 2)", "no samples"}},
      {"terabytes", npy(npy_header("<f4", "(1000000000000, 2)"), data), {"8000000000000 bytes"}},
      {"more than 64 bits",
       npy(npy_header("<f4", "(10000000000, 10000000000)"), data),
       {"18446744073709551615 bytes"}},
      {"terabytes, packed",
       gzipped(npy(npy_header("<f4", "(1000000000000, 2)"), data)),
       {"8000000000000 bytes"}},
      {"one byte short", inputs.substr(0, inputs.size() - 1), {"24 bytes", "at most 23"}},
      {"one byte too many", inputs + "x", {"left over", "24 bytes"}},
      {"four samples",
       npy(npy_header("<f4", "(4, 2)"), raw(std::vector<float>(8))),
       {"x.npy has 4 samples", "y.npy has 3 labels"}},
  };
  for (const Row& row : rows) {
    const NpyFiles written(row.inputs, class_labels);
    const std::string message = message_of<DataError>([&] { written.open(); });
    INFO(row.name << ": " << message);
    for (const std::string& word : row.words) CHECK(contains(message, word));
  }
}

TEST_CASE("npy: labels outside the model's classes are refused by sample and value", "[npy]") {
  for (const std::int64_t label : {std::int64_t{-1}, std::int64_t{4}, std::int64_t{1} << 32}) {
    const NpyFiles written(
        inputs, npy(npy_header("<i8", "(3,)"), raw(std::vector<std::int64_t>{0, 1, label})));
    const std::string message = message_of<DataError>([&] { written.open(); });
    INFO(message);
    CHECK(contains(message, "y.npy"));
    CHECK(contains(message, "sample 2 is " + std::to_string(label)));
    CHECK(contains(message, "0..3"));
  }
}

TEST_CASE("npy: types and shapes that do not fit the model are refused with both sides", "[npy]") {
  const auto refusal = [](const NpyFiles& written, const Graph& graph) {
    return message_of<UsageError>([&] { written.open(graph); });
  };
  const NpyFiles good(inputs, class_labels), swapped(class_labels, class_labels),
      floats(inputs, inputs);
  const std::string shape = refusal(good, model({{1, 2}}, {{4}}));
  CHECK(contains(shape, "shape [2]"));
  CHECK(contains(shape, "shape [1, 2]"));
  CHECK(
      contains(refusal(swapped, pairs), "inputs must be float32 or float64, but these are int64"));
  CHECK(contains(refusal(floats, pairs), "float32 of shape (3, 2)"));
  CHECK(contains(refusal(floats, pairs), "int32 or int64"));
  CHECK(contains(refusal(good, regression), "int64 of shape (3)"));
  CHECK(contains(refusal(floats, regression), "floats of shape (n, 1, 2)"));
}
