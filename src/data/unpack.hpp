// The bytes of a file from front to back, unpacked where they are gzip (RFC 1952: one member or
// several). Other than zlib's own gzread, it refuses what is after the last member, but zeros.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace pipetrain {

// zlib.h stays in unpack.cpp: others ask here.
std::string_view version_of_zlib();

class Unpacker {
 public:
  explicit Unpacker(const std::filesystem::path& path);  // DataError, as all below
  ~Unpacker();
  bool packed() const;
  std::uint64_t size() const;  // of the file, packed as it is
  // The next bytes, at most `count`; 0 at the end, when every checksum was right.
  std::size_t read(std::uint8_t* to, std::size_t count);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pipetrain
