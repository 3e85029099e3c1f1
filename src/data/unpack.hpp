// The bytes of a file from front to back, unpacked if they are gzip (RFC 1952: one member or
// several). Unlike zlib's own gzread, it refuses anything after the last member except zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace pipetrain {

// Only unpack.cpp includes zlib.h; others get its version here.
std::string_view version_of_zlib();

class Unpacker {
 public:
  explicit Unpacker(const std::filesystem::path& path);  // DataError, as everywhere below
  ~Unpacker();
  bool packed() const;
  std::uint64_t size() const;  // of the file, without unpacking
  // The next bytes, at most `count`; 0 at the end, if every checksum was right.
  std::size_t read(std::uint8_t* to, std::size_t count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrain
