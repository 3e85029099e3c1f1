// The safetensors format: what was written is read, and what is broken is refused with a reason.
#include "checkpoint/safetensors.hpp"

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "catch.hpp"
#include "scratch.hpp"

using namespace pipetrain;
namespace fs = std::filesystem;

namespace {

struct Folder {  // a fresh one for each test
  fs::path path =
      fs::temp_directory_path() / ("pipetrain-safetensors-" + std::to_string(::getpid()));
  Folder() { fs::create_directories(path); }
  ~Folder() { fs::remove_all(path); }
};

template <class T>
StoredTensor tensor(std::string name, std::string dtype, std::vector<std::int64_t> shape,
                    const std::vector<T>& values) {
  StoredTensor out{std::move(name), std::move(dtype), std::move(shape), {}};
  out.data.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(out.data.data(), values.data(), out.data.size());
  return out;
}

std::string slurp(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void spill(const fs::path& file, const std::string& bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

// A file with this header and that many data bytes.
std::string file_bytes(const std::string& header, std::size_t data, std::uint64_t claimed) {
  std::string bytes(sizeof claimed, '\0');
  std::memcpy(bytes.data(), &claimed, sizeof claimed);
  return bytes + header + std::string(data, 'x');
}
std::string file_bytes(const std::string& header, std::size_t data) {
  return file_bytes(header, data, header.size());
}

std::string error_of(const fs::path& file) {
  try {
    read_safetensors(file);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("what is written is read, by name") {
  const Folder folder;
  const fs::path file = folder.path / "a.safetensors";
  const auto weight = tensor<float>("b.weight", "F32", {2, 3}, {1, -2, 3.5f, 0, 1e-30f, 6});
  const auto counter = tensor<std::int64_t>("bn.count", "I64", {}, {-7});
  const auto empty = tensor<float>("a.empty", "F32", {0, 4}, {});
  write_safetensors(file, {weight, counter, empty});
  const auto read = read_safetensors(file);
  REQUIRE(read.size() == 3);
  CHECK(read[0].name == "a.empty");
  CHECK(read[0].shape == empty.shape);
  CHECK(read[0].data.empty());
  CHECK(read[1].name == "b.weight");
  CHECK(read[1].dtype == "F32");
  CHECK(read[1].shape == weight.shape);
  CHECK(read[1].data == weight.data);
  CHECK(read[2].dtype == "I64");
  CHECK(read[2].shape.empty());
  CHECK(read[2].data == counter.data);
}

TEST_CASE("bytes do not depend on the order of the tensors, and the header ends on 8") {
  const Folder folder;
  const auto a = tensor<float>("a", "F32", {1}, {1});
  const auto b = tensor<std::int64_t>("b", "I64", {}, {2});
  write_safetensors(folder.path / "1", {a, b});
  write_safetensors(folder.path / "2", {b, a});
  const std::string bytes = slurp(folder.path / "1");
  CHECK(bytes == slurp(folder.path / "2"));
  CHECK(static_cast<unsigned char>(bytes[0]) % 8 == 0);
  CHECK(bytes[8] == '{');
  CHECK(contains(bytes, R"("a":{"data_offsets":[8,12],"dtype":"F32","shape":[1]})"));
  CHECK(contains(bytes, R"("b":{"data_offsets":[0,8],"dtype":"I64","shape":[]})"));
}

TEST_CASE("a file without tensors is a file too") {
  const Folder folder;
  write_safetensors(folder.path / "none", {});
  CHECK(read_safetensors(folder.path / "none").empty());
}

TEST_CASE("a write that fails keeps the old file and leaves nothing behind") {
  const Folder folder;
  const auto a = tensor<float>("a", "F32", {1}, {1});
  CHECK_THROWS_AS(write_safetensors(folder.path / "no" / "such", {a}), DeviceError);
  fs::create_directory(folder.path / "taken");  // a folder cannot be replaced by a file
  try {
    write_safetensors(folder.path / "taken", {a});
    FAIL("no error");
  } catch (const DeviceError& error) {
    CHECK(contains(error.what(), "taken: cannot be replaced: it is a folder; name another file"));
  }
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 1);
  write_safetensors(folder.path / "file", {a});
  write_safetensors(folder.path / "file", {});
  CHECK(read_safetensors(folder.path / "file").empty());
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 2);
}

TEST_CASE("broken files are refused with the reason") {
  const Folder folder;
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& at) {
    return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + at + "}}";
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "it has 0 bytes"},
      {"\x01\x02\x03", "it has 3 bytes"},
      {file_bytes(good, 8, good.size() + 9), "header claims"},
      {file_bytes(good, 8, ~std::uint64_t{0}), "header claims"},
      {file_bytes(good, 8, 1ull << 40), "header claims"},
      {file_bytes(good, 8, good.size() - 1), "not a JSON object"},
      {file_bytes(good, 8, 0), "not a JSON object"},
      {file_bytes("[1,2]", 0), "not a JSON object"},
      {file_bytes("{\"a\xff\":1}", 0), "not a JSON object"},
      {file_bytes(std::string(5000, '['), 0), "not a JSON object"},
      {file_bytes(good, 7), "is at bytes 0 to 8 of 7"},
      {file_bytes(good, 9), "1 byte follows the last tensor"},
      {file_bytes(R"({"a":3})", 0), "tensor 'a' is not an object"},
      {file_bytes(R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8), "has no dtype"},
      {file_bytes(entry("\"F31\"", "[2]", "[0,8]"), 8), "unknown dtype 'F31'"},
      {file_bytes(entry("7", "[2]", "[0,8]"), 8), "has no dtype"},
      {file_bytes(entry("\"F32\"", "2", "[0,8]"), 8), "has no shape"},
      {file_bytes(entry("\"F32\"", "[-2]", "[0,8]"), 8), "has no shape"},
      {file_bytes(entry("\"F32\"", "[2.0]", "[0,8]"), 8), "has no shape"},
      {file_bytes(entry("\"F32\"", "[18446744073709551615]", "[0,8]"), 8), "has no shape"},
      {file_bytes(entry("\"F32\"", "[3]", "[0,8]"), 8), "stores 8 bytes"},
      {file_bytes(entry("\"I64\"", "[2]", "[0,8]"), 8), "stores 8 bytes, but I64 [2]"},
      {file_bytes(entry("\"F32\"", "[4611686018427387904,4]", "[0,0]"), 0), "stores 0 bytes"},
      {file_bytes(entry("\"F32\"", "[2147483648,2147483648,4]", "[0,8]"), 8), "stores 8 bytes"},
      {file_bytes(entry("\"F32\"", "[2]", "[8,0]"), 8), "is at bytes 8 to 0"},
      {file_bytes(entry("\"F32\"", "[2]", "[0,8,8]"), 8), "no pair of data_offsets"},
      {file_bytes(entry("\"F32\"", "[2]", "[-8,0]"), 8), "no pair of data_offsets"},
      {file_bytes(entry("\"F32\"", "[2]", "[4,12]"), 12), "leaves a gap"},
      {file_bytes(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                  R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                  8),
       "overlaps"},
      {file_bytes(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                  R"("a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                  8),
       "its header has the key 'a' twice"},
      {file_bytes(R"({"a":{"dtype":"F32","dtype":"I64","shape":[1],"data_offsets":[0,8]}})", 8),
       "its header has the key 'dtype' twice"},
  };
  for (const auto& [bytes, why] : cases) {
    spill(folder.path / "bad.safetensors", bytes);
    const std::string error = error_of(folder.path / "bad.safetensors");
    INFO(why << "\n-> " << error);
    CHECK(contains(error, "bad.safetensors: not a valid safetensors file: "));
    CHECK(contains(error, why));
  }
  spill(folder.path / "good", file_bytes(good, 8));
  CHECK(error_of(folder.path / "good") == "no error");
  CHECK(contains(error_of(folder.path / "absent"), "No such file"));
  CHECK(contains(error_of(folder.path), "it is a folder"));
}

TEST_CASE("a header of more than two million values, or eight levels, is refused") {
  const Folder folder;
  const fs::path file = folder.path / "bad.safetensors";
  const auto header = [](const std::string& metadata) {
    return file_bytes(R"({"__metadata__":)" + metadata + "}", 0);
  };
  std::string zeros;  // of 1,999,999 values; with the list itself they reach the limit
  for (int i = 1; i < 2'000'000; ++i) zeros += i == 1 ? "0" : ",0";
  spill(file, header("[" + zeros + "]"));
  CHECK(error_of(file) == "no error");
  spill(file, header("[" + zeros + ",0]"));
  CHECK(contains(error_of(file), "its header has more than 2000000 values"));
  spill(file, header(std::string(7, '[') + std::string(7, ']')));
  CHECK(error_of(file) == "no error");
  spill(file, header(std::string(8, '[') + std::string(8, ']')));
  CHECK(contains(error_of(file), "its header has more than 8 levels of arrays and objects"));
}

TEST_CASE("a file cut short anywhere is refused") {
  const Folder folder;
  const fs::path file = folder.path / "whole";
  write_safetensors(file, {tensor<float>("a", "F32", {3}, {1, 2, 3})});
  const std::string bytes = slurp(file);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    spill(folder.path / "cut", bytes.substr(0, length));
    INFO(length);
    CHECK(contains(error_of(folder.path / "cut"), "not a valid safetensors file"));
  }
}
