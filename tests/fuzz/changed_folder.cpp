// The instructions that change a folder.
#include "changed_folder.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include "target.hpp"

namespace pipetrain::fuzz {
namespace fs = std::filesystem;
namespace {

constexpr int kMostInstructions = 16;
constexpr std::array kElsewhere = {"missing", ".", "..", "/dev/null", "/dev/zero", "/"};

class Numbers {  // an input, byte by byte
 public:
  explicit Numbers(std::string_view bytes) : bytes_(bytes) {}
  bool ended() const { return bytes_.empty(); }
  std::size_t byte() {
    if (ended()) return 0;
    const auto value = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return value;
  }
  std::size_t place() {
    const std::size_t high = byte();
    return high * 256 + byte();
  }
  std::string_view text() {  // its length first
    const std::string_view taken = bytes_.substr(0, std::min(byte(), bytes_.size()));
    bytes_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view bytes_;
};

Entry& pick(Entries& entries, Numbers& numbers) {
  return std::next(entries.begin(), static_cast<std::ptrdiff_t>(numbers.byte() % entries.size()))
      ->second;
}

const std::string& pick_name(const Entries& entries, Numbers& numbers) {
  return std::next(entries.begin(), static_cast<std::ptrdiff_t>(numbers.byte() % entries.size()))
      ->first;
}

void flip(Entries& entries, Numbers& numbers) {
  std::string& content = pick(entries, numbers).content;
  const std::size_t place = numbers.place(), bits = numbers.byte();
  if (!content.empty()) content[place % content.size()] ^= static_cast<char>(bits);
}

void cut(Entries& entries, Numbers& numbers) {
  std::string& content = pick(entries, numbers).content;
  content.resize(std::min(numbers.place(), content.size()));
}

void append(Entries& entries, Numbers& numbers) {
  std::string& content = pick(entries, numbers).content;
  content += numbers.text();
}

// The given bytes replace that many others.
void overwrite(Entries& entries, Numbers& numbers) {
  std::string& content = pick(entries, numbers).content;
  const std::size_t place = std::min(numbers.place(), content.size());
  const std::string_view text = numbers.text();
  content.replace(place, text.size(), text);
}

void replace_all(Entries& entries, Numbers& numbers) {
  Entry& entry = pick(entries, numbers);
  entry.content = numbers.text();
}

void remove(Entries& entries, Numbers& numbers) {
  if (entries.size() > 1) entries.erase(pick_name(entries, numbers));
}

void swap(Entries& entries, Numbers& numbers) {
  Entry& one = pick(entries, numbers);
  std::swap(one, pick(entries, numbers));
}

void make_folder(Entries& entries, Numbers& numbers) {
  pick(entries, numbers).kind = Entry::Kind::Folder;
}

void make_pipe(Entries& entries, Numbers& numbers) {
  pick(entries, numbers).kind = Entry::Kind::Pipe;
}

// To another entry, to itself, or somewhere else.
void link(Entries& entries, Numbers& numbers) {
  Entry& entry = pick(entries, numbers);
  entry.kind = Entry::Kind::Link;
  const std::size_t where = numbers.byte();
  entry.target = where < kElsewhere.size() ? kElsewhere[where] : pick_name(entries, numbers);
}

// Another entry's name in one entry's text becomes a third one's, or any text.
void rename_within(Entries& entries, Numbers& numbers) {
  std::string& content = pick(entries, numbers).content;
  const std::string& name = pick_name(entries, numbers);
  const bool to_another = numbers.byte() % 2 == 0;
  const std::string other{to_another ? std::string_view(pick_name(entries, numbers))
                                     : numbers.text()};
  const std::size_t found = content.find(name);
  if (found != content.npos) content.replace(found, name.size(), other);
}

constexpr std::array kInstructions = {flip, cut,         append,    overwrite, replace_all,  remove,
                                      swap, make_folder, make_pipe, link,      rename_within};

void write_entry(const fs::path& path, const Entry& entry) {
  bool done = false;
  switch (entry.kind) {
    case Entry::Kind::File:
      done = bool(std::ofstream(path, std::ios::binary) << entry.content);
      break;
    case Entry::Kind::Folder:
      done = ::mkdir(path.c_str(), 0755) == 0;
      break;
    case Entry::Kind::Pipe:
      done = ::mkfifo(path.c_str(), 0644) == 0;
      break;
    case Entry::Kind::Link:
      fs::create_symlink(entry.target, path);
      done = true;
      break;
  }
  require(done, "an entry of a folder can be written");
}

}  // namespace

Entries entries_of(const fs::path& folder) {
  Entries entries;
  for (const auto& file : fs::directory_iterator(folder)) {
    std::ifstream in(file.path(), std::ios::binary);
    entries[file.path().filename()] = {Entry::Kind::File,
                                       std::string(std::istreambuf_iterator<char>(in), {}), ""};
  }
  return entries;
}

void change(Entries& entries, std::string_view instructions) {
  Numbers numbers(instructions);
  for (int i = 0; i < kMostInstructions && !numbers.ended(); ++i)
    kInstructions[numbers.byte() % kInstructions.size()](entries, numbers);
}

void write_entries(const Entries& entries, const fs::path& folder) {
  for (const auto& [name, entry] : entries) write_entry(folder / name, entry);
}

}  // namespace pipetrain::fuzz
