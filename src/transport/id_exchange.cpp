#include "transport/id_exchange.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/input_file.hpp"

// A file is   magic | run, name, blob: each its length (8 bytes) and its bytes | checksum (8 bytes)
// in the machine's byte order: all processes that share ids run on the same kind of machine.

namespace pipetrain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "PIPEID01";

std::uint64_t checksum(std::string_view text) {  // FNV-1a
  std::uint64_t sum = 14695981039346656037u;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return sum;
}

void put(std::string& text, std::uint64_t number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
}
void put(std::string& text, std::string_view part) {
  put(text, part.size());
  text += part;
}

// Takes parts off the front; returns nothing if one does not fit.
struct Parts {
  std::string_view rest;
  std::optional<std::uint64_t> number() {
    std::uint64_t value = 0;
    if (rest.size() < sizeof value) return std::nullopt;
    std::memcpy(&value, rest.data(), sizeof value);
    rest.remove_prefix(sizeof value);
    return value;
  }
  std::optional<std::string_view> part() {
    const auto size = number();
    if (!size || rest.size() < *size) return std::nullopt;
    const std::string_view found = rest.substr(0, *size);
    rest.remove_prefix(*size);
    return found;
  }
};

std::string encode(std::string_view run, std::string_view name, std::span<const std::byte> blob) {
  std::string text(magic);
  put(text, run);
  put(text, name);
  put(text, {reinterpret_cast<const char*>(blob.data()), blob.size()});
  put(text, checksum(text));
  return text;
}

struct Found {
  std::optional<std::vector<std::byte>> blob;
  const char* what = "";  // if there is no blob: what is wrong with the file
};

Found decode(std::string_view text, std::string_view run, std::string_view name) {
  const Found damaged{std::nullopt, "is damaged"};
  if (text.size() < magic.size() + sizeof(std::uint64_t) || !text.starts_with(magic))
    return damaged;
  const std::string_view body = text.substr(0, text.size() - sizeof(std::uint64_t));
  if (Parts{text.substr(body.size())}.number() != checksum(body)) return damaged;
  Parts parts{body.substr(magic.size())};
  const auto its_run = parts.part(), its_name = parts.part(), blob = parts.part();
  if (!its_run || !its_name || !blob) return damaged;
  if (*its_run != run) return {std::nullopt, "belongs to another start of the run"};
  if (*its_name != name) return {std::nullopt, "has another name"};
  const auto* const bytes = reinterpret_cast<const std::byte*>(blob->data());
  return {std::vector(bytes, bytes + blob->size()), ""};
}

[[noreturn]] void fail(const fs::path& file, const char* verb) {
  throw DeviceError(
      fmt::format("{} cannot be {}: {}; processes that work together need a folder "
                  "that all of them can write",
                  file.string(), verb, std::strerror(errno)));
}

void write_all(int descriptor, std::string_view text, const fs::path& file) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(file, "written");
    text.remove_prefix(count);
  }
  if (::fsync(descriptor) != 0) fail(file, "flushed");
}

void flush_folder(const fs::path& folder) noexcept {  // some file systems cannot: ignored
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

// Writes under another name first: a process that sees the file sees all of it.
void write_whole(const fs::path& file, std::string_view text) {
  const fs::path part = file.string() + fmt::format(".{}.part", ::getpid());
  const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) fail(part, "created");
  try {
    write_all(descriptor, text, part);
  } catch (...) {
    ::close(descriptor);
    ::unlink(part.c_str());
    throw;
  }
  ::close(descriptor);
  if (::rename(part.c_str(), file.c_str()) != 0) {
    const int error = errno;
    ::unlink(part.c_str());
    errno = error;
    fail(file, "renamed into place");
  }
  flush_folder(file.parent_path());
}

std::optional<std::string> read_whole(const fs::path& file) {
  constexpr std::uint64_t most = 1 << 20;  // an id has a few hundred bytes
  try {
    return read_whole_file(file, most);
  } catch (const CannotRead&) {  // not there yet, or never will be: take() gives up in time
    return std::nullopt;
  }
}

class FileExchange final : public IdExchange {
 public:
  explicit FileExchange(const FileExchangeOptions& options) : options_(options) {
    PIPETRAIN_CHECK(!options_.run.empty(), "an exchange of ids without the run's own token");
    std::error_code error;
    fs::create_directories(options_.folder, error);
    if (error) {
      errno = error.value();
      fail(options_.folder, "made");
    }
  }
  ~FileExchange() override {
    while (!given_.empty()) withdraw(std::string(*given_.begin()));
  }

  void give(const std::string& name, std::span<const std::byte> blob) override {
    write_whole(file(name), encode(options_.run, name, blob));
    given_.insert(name);
  }

  std::vector<std::byte> take(const std::string& name) override {
    using namespace std::chrono;
    const auto begin = steady_clock::now();
    for (auto pause = milliseconds(1);; pause = std::min(pause * 2, milliseconds(50))) {
      const Found found = look(name);
      if (found.blob) return *found.blob;
      if (duration<double>(steady_clock::now() - begin).count() >= options_.seconds_max)
        give_up(name, found.what);
      std::this_thread::sleep_for(pause);
    }
  }

  void withdraw(const std::string& name) noexcept override {
    if (given_.erase(name) == 0) return;
    try {  // keeps what a later start may have put there
      if (look(name).blob) ::unlink(file(name).c_str());
    } catch (const std::exception&) {  // at worst one file too many, in a scratch folder
    }
  }

 private:
  fs::path file(const std::string& name) const {
    const auto good = [](unsigned char c) {
      return std::isalnum(c) || c == '-' || c == '_' || c == '.';
    };
    PIPETRAIN_CHECK(!name.empty() && std::all_of(name.begin(), name.end(), good),
                    "`{}` is no name for an id", name);
    return options_.folder / (name + ".id");
  }

  Found look(const std::string& name) const {
    const auto text = read_whole(file(name));
    return text ? decode(*text, options_.run, name) : Found{std::nullopt, "is missing"};
  }

  [[noreturn]] void give_up(const std::string& name, const char* what) const {
    throw DeviceError(fmt::format(
        "{} {} after {:g} s: the process that writes it has not got that far; check that it was "
        "started and runs, that every process sees this folder, and that all were given the same "
        "run",
        file(name).string(), what, options_.seconds_max));
  }

  FileExchangeOptions options_;
  std::set<std::string> given_;
};

}  // namespace

std::unique_ptr<IdExchange> make_file_exchange(const FileExchangeOptions& options) {
  return std::make_unique<FileExchange>(options);
}

}  // namespace pipetrain
