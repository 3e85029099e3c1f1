// IDX files, plain and gzip. The first byte of the input says what the rest is: images beside good
// labels of two samples ('i'), or labels beside two good images.
#include "data_pair.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  using namespace std::string_view_literals;
  constexpr pipetrain::fuzz::GoodPair good{.inputs =
                                               "\0\0\x08\x03\0\0\0\x02\0\0\0\x02\0\0\0\x03"
                                               "abcdefghijkl"sv,
                                           .labels = "\0\0\x08\x01\0\0\0\x02\0\x01"sv};
  return pipetrain::fuzz::read_pair(pipetrain::open_idx, good, bytes, count);
}
