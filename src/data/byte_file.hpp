// A data file read from front to back, plain or gzip (recognised by its first bytes, not by its
// name). Every failure is a DataError that names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "data/unpack.hpp"

namespace pipetrain {

// For sizes that a header claims: the product, or the largest number if it does not fit. Factors
// must not be 0.
std::uint64_t product_or_max(std::span<const std::uint64_t> factors);

class ByteFile {
 public:
  explicit ByteFile(const std::filesystem::path& path);

  // Exactly `count` bytes; `what` names them in the message if the file ends too early.
  std::vector<std::uint8_t> read(std::uint64_t count, std::string_view what);
  // The rest of the file, which must be `count` bytes: refused, before anything is allocated, if
  // the file cannot hold that many, and if bytes are left over.
  std::vector<std::uint8_t> read_rest(std::uint64_t count, std::string_view what);
  // The rest of the file, however long it is.
  std::vector<std::uint8_t> read_all();
  // The next bytes, at most `count`; 0 only at the end.
  std::size_t read_some(std::uint8_t* to, std::size_t count);

  [[noreturn]] void fail(std::string_view why) const;

 private:
  std::filesystem::path path_;
  std::optional<Unpacker> bytes_;
  std::uint64_t position_ = 0;  // in unpacked bytes
  std::uint64_t most_ = 0;      // the most unpacked bytes that a file of this size can hold
};

}  // namespace pipetrain
