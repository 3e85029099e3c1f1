// Safetensors files. What reads must come back equal after it is written.
#include "checkpoint/safetensors.hpp"

#include <algorithm>

#include "target.hpp"

using namespace pipetrain;

namespace {

bool equal(const StoredTensor& a, const StoredTensor& b) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && a.data == b.data;
}

// Written files are renamed into place, so they need a folder; in memory where there is one.
class Folder {
 public:
  Folder() {
    const bool memory = std::filesystem::is_directory("/dev/shm");
    path_ = memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    path_ = (path_ / "pipetrain-fuzz-XXXXXX").string();
    std::string name = path_.string();
    fuzz::require(mkdtemp(name.data()) != nullptr, "there is a folder to write to");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static fuzz::MemoryFile file;
  static const Folder folder;
  return fuzz::refused_or_read([&] {
    const auto tensors = read_safetensors(file.holding(fuzz::text_of(bytes, count)));
    const std::filesystem::path written = folder.path() / "written.safetensors";
    write_safetensors(written, tensors);
    const auto again = read_safetensors(written);
    fuzz::require(std::equal(tensors.begin(), tensors.end(), again.begin(), again.end(), equal),
                  "tensors read back equal after they are written");
  });
}
