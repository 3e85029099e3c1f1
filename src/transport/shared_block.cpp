#include "transport/shared_block.hpp"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "base/cache_line.hpp"
#include "base/input_file.hpp"

namespace pipetrain {
namespace {

constexpr const char* memory_name = "pipetrain";
constexpr std::string_view file_of_name = "/memfd:pipetrain";

// The number of a namespace of this process; 0: unknown.
std::uint64_t namespace_of(const char* kind) {
  struct stat found = {};
  return ::stat(fmt::format("/proc/self/ns/{}", kind).c_str(), &found) == 0 ? found.st_ino : 0;
}

SharedAddress address_here() {
  SharedAddress address;
  try {
    InputFile("/proc/sys/kernel/random/boot_id")
        .read_some(address.host.data(), address.host.size() - 1);
  } catch (const CannotRead&) {  // then nothing is on this host
    address.host[0] = 0;
  }
  address.processes = namespace_of("pid");
  address.network = namespace_of("net");
  return address;
}

bool on_this_host(const SharedAddress& address) {
  const SharedAddress mine = address_here();
  return mine.host[0] != 0 && address.host == mine.host && mine.processes != 0 &&
         address.processes == mine.processes && address.network == mine.network;
}

bool is_sealed(int file) {
  const int seals = ::fcntl(file, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

std::array<std::uint64_t, 2> random_number() {
  std::random_device source;
  const auto next = [&] { return std::uint64_t{source()} << 32 | source(); };
  return {next(), next()};
}

}  // namespace

std::optional<SharedBlock> SharedBlock::make(std::size_t bytes) {
  SharedAddress address = address_here();
  address.bytes = kCacheLine + bytes;
  address.number = random_number();
  address.process = ::getpid();
  const int file = ::memfd_create(memory_name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file < 0) return std::nullopt;
  address.file = file;
  // All of it is taken here and it never becomes smaller, so nobody who uses it misses a page.
  if (::posix_fallocate(file, 0, static_cast<off_t>(address.bytes)) != 0 ||
      ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    ::close(file);
    return std::nullopt;
  }
  auto block = map(address, file);
  if (block) std::memcpy(block->memory_, address.number.data(), sizeof address.number);
  return block;
}

std::optional<SharedBlock> SharedBlock::open(const SharedAddress& address, std::size_t bytes) {
  if (address.file < 0 || address.bytes != kCacheLine + bytes || !on_this_host(address))
    return std::nullopt;
  const std::string path = fmt::format("/proc/{}/fd/{}", address.process, address.file);
  std::array<char, 64> target = {};
  if (::readlink(path.c_str(), target.data(), target.size() - 1) < 0 ||
      !std::string_view(target.data()).starts_with(file_of_name))
    return std::nullopt;
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat found = {};
  if (::fstat(file, &found) != 0 || std::cmp_not_equal(found.st_size, address.bytes) ||
      !is_sealed(file)) {
    ::close(file);
    return std::nullopt;
  }
  auto block = map(address, file);
  if (block && std::memcmp(block->memory_, address.number.data(), sizeof address.number) != 0)
    return std::nullopt;
  if (block) block->hide();
  return block;
}

// Takes over the file.
std::optional<SharedBlock> SharedBlock::map(const SharedAddress& address, int file) {
  void* const memory = ::mmap(nullptr, address.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    ::close(file);
    return std::nullopt;
  }
  return SharedBlock(address, file, memory);
}

SharedBlock::SharedBlock(SharedBlock&& other) noexcept
    : address_(other.address_),
      file_(std::exchange(other.file_, -1)),
      memory_(std::exchange(other.memory_, nullptr)) {}

SharedBlock::~SharedBlock() {
  if (memory_) ::munmap(memory_, address_.bytes);
  hide();
}

void SharedBlock::hide() {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

std::byte* SharedBlock::data() const { return static_cast<std::byte*>(memory_) + kCacheLine; }

}  // namespace pipetrain
