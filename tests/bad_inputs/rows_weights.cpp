// Safetensors files that are missing, cut short, damaged, or of another model.
#include "files.hpp"
#include "row.hpp"

namespace {

Row weights(const std::string& name, const std::string& bytes, std::vector<std::string> words) {
  words.insert(words.begin(), "bad.safetensors");
  return {name,
          {{"bad.safetensors", bytes}},
          "train weights.toml --set model.init=bad.safetensors --dry-run",
          3,
          std::move(words),
          true};
}
std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}
std::string file(const std::string& weight, const std::string& bias, std::size_t bytes = 36) {
  return safetensors("{" + weight + "," + bias + "}", std::string(bytes, '\0'));
}
const std::string weight = tensor("fc.weight", "F32", "[3,2]", "[0,24]");
const std::string bias = tensor("fc.bias", "F32", "[3]", "[24,36]");

}  // namespace

std::vector<Row> weight_rows() {
  return {
      {"weights that are not there",
       {},
       "train weights.toml --set model.init=none.safetensors --dry-run",
       3,
       {"none.safetensors", "No such file"}},
      {"weights that are a folder",
       {{"folder/", ""}},
       "train weights.toml --set model.init=folder --dry-run",
       3,
       {"folder: there is no checkpoint", "name the folder of one"}},
      weights("empty weights", "", {"0 bytes", "write or download it again"}),
      weights("weights of 7 bytes", "1234567", {"7 bytes"}),
      weights("a weights header that claims 2^64 - 1 bytes", std::string(16, '\xff'),
              {"header claims 18446744073709551615 bytes"}),
      weights("a weights header that claims more than the file", little_endian(1000) + "{}",
              {"header claims 1000 bytes"}),
      weights("a weights header that claims 64 GiB",
              little_endian(std::uint64_t{1} << 36) + std::string(100, ' '),
              {"header claims 68719476736 bytes"}),
      weights("a weights header that is no JSON", safetensors("{oops", ""), {"not a JSON object"}),
      weights("a weights header that is an array", safetensors("[1]", ""), {"not a JSON object"}),
      weights("a weights header nested deeply", safetensors(repeated("[", 100000), ""),
              {"not a JSON object"}),
      weights("weights cut short", less(good_weights(), 4),
              {"tensor 'fc.bias' is at bytes 24 to 36 of 32"}),
      weights("weights with bytes left over", good_weights() + "1234",
              {"4 bytes follow the last tensor"}),
      weights("a weight twice", file(weight, weight), {"its header has the key 'fc.weight' twice"}),
      weights("a weight whose name and type would move the cursor",
              file(tensor("fc\\u001b[31m\\nweight", "F\\u009b", "[3,2]", "[0,24]"), bias),
              {"tensor 'fc\\u001b[31m\\nweight' has the unknown dtype 'F\\u009b'"}),
      weights("a weight of another model whose name would move the cursor",
              file(tensor("fc\\u001b[31m\\nweight", "F32", "[3,2]", "[0,24]"), bias),
              {"'fc\\u001b[31m\\nweight' is not in the model"}),
      weights("a key that is there twice and would move the cursor",
              file(tensor("\\u001b", "F32", "[3,2]", "[0,24]"),
                   tensor("\\u001b", "F32", "[3]", "[24,36]")),
              {"its header has the key '\\u001b' twice"}),
      weights("weights that overlap", file(weight, tensor("fc.bias", "F32", "[3]", "[20,32]"), 32),
              {"'fc.bias' overlaps another"}),
      weights("a gap between weights", file(weight, tensor("fc.bias", "F32", "[3]", "[28,40]"), 40),
              {"'fc.bias' leaves a gap"}),
      weights("weights of an unknown type",
              file(tensor("fc.weight", "F31", "[3,2]", "[0,24]"), bias), {"unknown dtype 'F31'"}),
      weights("weights of another type", file(tensor("fc.weight", "F64", "[3,1]", "[0,24]"), bias),
              {"'fc.weight' is [3, 1] there, [3, 2] in the model"}),
      weights("half-precision weights",
              file(tensor("fc.weight", "F16", "[3,2]", "[0,12]"),
                   tensor("fc.bias", "F32", "[3]", "[12,24]"), 24),
              {"'fc.weight' is F16 there; convert it to F32"}),
      weights("a weight whose size is not that of its shape",
              file(tensor("fc.weight", "F32", "[3,3]", "[0,24]"), bias),
              {"stores 24 bytes, but F32 [3, 3]"}),
      weights("a weight that claims terabytes",
              file(tensor("fc.weight", "F32", "[1000000,1000000]", "[0,4000000000000]"), bias),
              {"'fc.weight' is at bytes 0 to 4000000000000"}),
      weights("a weight whose size overflows",
              file(tensor("fc.weight", "F32", "[4611686018427387905,4]", "[0,24]"), bias),
              {"does not have that size"}),
      weights("a negative dimension", file(tensor("fc.weight", "F32", "[-3,2]", "[0,24]"), bias),
              {"no shape of whole numbers"}),
      weights("offsets the wrong way round",
              file(tensor("fc.weight", "F32", "[3,2]", "[24,0]"), bias), {"is at bytes 24 to 0"}),
      weights("weights of another model, every difference listed",
              safetensors("{" + tensor("fc.weight", "F32", "[2,2]", "[0,16]") + "," +
                              tensor("gc.bias", "F32", "[3]", "[16,28]") + "}",
                          std::string(28, '\0')),
              {"'fc.weight' is [2, 2] there, [3, 2] in the model", "'gc.bias' is not in the model",
               "'fc.bias' [3] is missing"}),
      {"weights to evaluate that are damaged",
       {{"w.safetensors", "oops"}},
       "eval weights.toml --model w.safetensors",
       3,
       {"w.safetensors", "4 bytes"}},
  };
}
