// NumPy files that are missing, cut short, of another type, or inconsistent; and values that are
// not numbers.
#include <cmath>
#include <limits>

#include "data/data_files.hpp"
#include "files.hpp"
#include "row.hpp"

using namespace pipetrain::test;

namespace {

const std::string data = raw(std::vector<float>(24, 0.5f));

Row inputs(const std::string& name, const std::string& bytes, std::vector<std::string> words) {
  words.insert(words.begin(), "x.npy");
  return {name, {{"x.npy", bytes}}, "train array.toml --dry-run", 3, std::move(words), true};
}
std::string array(const std::string& descr, const std::string& shape) {
  return npy(npy_header(descr, shape), data);
}
std::string labels(std::int64_t bad) {
  return npy(npy_header("<i8", "(6,)"), raw(std::vector<std::int64_t>{0, 1, 2, 0, bad, 2}));
}
std::string with_value(float value) {
  std::vector<float> values(24, 0.5f);
  values[9] = value;
  return npy(npy_header("<f4", "(6, 4)"), raw(values));
}

}  // namespace

std::vector<Row> array_rows() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::string in_order = "train array.toml --set data.shuffle=false";
  return {
      inputs("an empty npy file", "", {"magic string", "truncated"}),
      inputs("an npy file of another magic", "\x93NUMPX" + array("<f4", "(6, 4)"),
             {"93 4e 55 4d 50 58", "numpy.save"}),
      inputs("an npy version to come", with_byte(array("<f4", "(6, 4)"), 6, 9),
             {"9.0", "1.0 to 3.0"}),
      inputs("an npy file cut short", less(array("<f4", "(6, 4)"), 5), {"96 bytes", "truncated"}),
      inputs("an npy header cut short", array("<f4", "(6, 4)").substr(0, 40),
             {"NPY header", "truncated"}),
      inputs("an npy header of garbage", npy("{'descr': oops", data),
             {"NPY header is damaged", "quoted string"}),
      inputs("an npy header without a shape",
             npy("{'descr': '<f4', 'fortran_order': False, }", data), {"'shape'"}),
      inputs("npy of big-endian numbers", array(">f4", "(6, 4)"), {"'>f4'", "astype('<f4')"}),
      inputs("npy of objects", array("|O", "(6, 4)"), {"'|O'", "'<f4'"}),
      inputs("npy in Fortran order",
             npy("{'descr': '<f4', 'fortran_order': True, 'shape': (6, 4), }", data),
             {"Fortran order", "ascontiguousarray"}),
      inputs("npy of no samples", array("<f4", "(0, 4)"), {"no samples"}),
      inputs("npy that claims terabytes", array("<f4", "(1000000000000, 4)"),
             {"16000000000000 bytes", "truncated"}),
      inputs("npy whose size overflows", array("<f4", "(4611686018427387905, 4)"),
             {"truncated or its header is damaged"}),
      inputs("npy whose dimension overflows", array("<f4", "(99999999999999999999, 4)"),
             {"below 2^64"}),
      {"npy inputs of integers",
       {{"x.npy", npy(npy_header("<i4", "(6, 4)"), data)}},
       "train array.toml --dry-run",
       2,
       {"x.npy", "int32", "astype('<f4')"}},
      {"npy inputs of another shape",
       {{"x.npy", array("<f4", "(6, 2, 2)")}},
       "train array.toml --dry-run",
       2,
       {"[2, 2]", "[4]"}},
      {"npy counts that differ",
       {{"x.npy", array("<f4", "(3, 4)").substr(0, 128 + 48)}},
       "train array.toml --dry-run",
       3,
       {"3 samples", "6 labels"}},
      {"npy labels out of range",
       {{"y.npy", labels(3)}},
       "train array.toml --dry-run",
       3,
       {"y.npy", "sample 4 is 3", "0..2"}},
      {"a negative npy label",
       {{"y.npy", labels(-1)}},
       "train array.toml --dry-run",
       3,
       {"sample 4 is -1"}},
      {"an npy label beyond 2^32",
       {{"y.npy", labels(4294967297)}},
       "train array.toml --dry-run",
       3,
       {"sample 4 is 4294967297"}},
      {"npy labels of floats",
       {{"y.npy", npy(npy_header("<f4", "(6,)"), raw(std::vector<float>(6, 1)))}},
       "train array.toml --dry-run",
       2,
       {"float32", "int32 or int64"}},
      {"an input that is NaN",
       {{"x.npy", with_value(nan)}},
       in_order,
       5,
       {"diverged at step 2", "fc1.weight, layer \"fc1\" on stage 0", "training sample 2",
        "on_nonfinite"}},
      {"an input that is infinite, on two stages",
       {{"x.npy", with_value(HUGE_VALF)}},
       in_order + " --set pipeline.stages=2",
       5,
       {"diverged at step 2", "layer \"fc1\" on stage", "not finite"}},
      {"a learning rate far too large",
       {},
       in_order + " --set optimizer.lr=1e38 --set training.steps=20",
       5,
       {"diverged at step", "lower optimizer.lr"}},
  };
}
