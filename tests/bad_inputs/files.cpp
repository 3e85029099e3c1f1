#include "files.hpp"

#include "data/data_files.hpp"

using namespace pipetrain::test;

std::string good_images() { return idx({6, 2, 2}, std::string(24, '\x40')); }
std::string good_labels() { return idx({6}, std::string("\0\1\2\0\1\2", 6)); }

std::string little_endian(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string safetensors(const std::string& header, const std::string& data) {
  return little_endian(header.size()) + header + data;
}

std::string good_weights() {
  return safetensors(R"({"fc.weight":{"dtype":"F32","shape":[3,2],"data_offsets":[0,24]},)"
                     R"("fc.bias":{"dtype":"F32","shape":[3],"data_offsets":[24,36]}})",
                     std::string(36, '\0'));
}

std::string less(std::string bytes, std::size_t count) {
  bytes.resize(bytes.size() - count);
  return bytes;
}

std::string with_byte(std::string bytes, std::size_t at, int value) {
  bytes[at] = static_cast<char>(value);
  return bytes;
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}
