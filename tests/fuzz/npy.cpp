// NumPy arrays. The first byte of the input says what the rest is: inputs beside good labels of two
// samples ('i'), or labels beside two good inputs.
#include "data_pair.hpp"

namespace {

// Format version 1.0: the header's text is padded by the writer, which its reader does not require.
std::string npy(const std::string& header, const std::string& elements) {
  return std::string("\x93NUMPY\x01\0", 8) + char(header.size()) + '\0' + header + elements;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static const std::string inputs = npy(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 2, 3), }\n", std::string(48, '\0'));
  static const std::string labels =
      npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }\n", std::string(8, '\0'));
  return pipetrain::fuzz::read_pair(pipetrain::open_npy, {inputs, labels}, bytes, count);
}
