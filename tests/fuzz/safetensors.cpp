// Safetensors files. What reads must come back equal after it is written.
#include "checkpoint/safetensors.hpp"

#include <algorithm>

#include "memory_folder.hpp"

using namespace pipetrain;

namespace {

bool equal(const StoredTensor& a, const StoredTensor& b) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.data == b.data;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static fuzz::MemoryFile file;
  static const fuzz::MemoryFolder folder;  // written files are renamed into place
  return fuzz::refused_or_read([&] {
    const auto tensors = read_safetensors(file.holding(fuzz::text_of(bytes, count)));
    const std::filesystem::path written = folder.path() / "written.safetensors";
    write_safetensors(written, tensors);
    const auto again = read_safetensors(written);
    fuzz::require(std::equal(tensors.begin(), tensors.end(), again.begin(), again.end(), equal),
                  "tensors read back equal after they are written");
  });
}
