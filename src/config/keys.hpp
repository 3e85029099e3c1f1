// Every key of a config, one row each: reading, dumping, comparing, the help and "did you mean" all
// walk this table. To add a key: a field in config.hpp and a row in keys.cpp; if it takes one of a
// few words, also their enum in words.hpp.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/config.hpp"

namespace pipetrain::config {

template <class T>
using FieldOf = T& (*)(Config&);

// Where a word goes: an enum of config/words.hpp, as its enumerator's number.
struct WordField {
  std::span<const std::string_view> words;
  int (*get)(const Config&);
  void (*set)(Config&, int);
};

// Where a key's value goes; its type says what may be written.
using Field =
    std::variant<std::monostate,  // a known name, but nothing reads it yet
                 WordField, FieldOf<bool>, FieldOf<int>, FieldOf<std::int64_t>,
                 FieldOf<std::uint64_t>, FieldOf<double>, FieldOf<std::string>,
                 FieldOf<std::filesystem::path>, FieldOf<std::vector<std::filesystem::path>>,
                 FieldOf<std::vector<std::string>>, FieldOf<NamePatterns>,
                 FieldOf<std::optional<std::int64_t>>, FieldOf<std::optional<SampleRange>>,
                 FieldOf<std::optional<StepRange>>, FieldOf<std::vector<int>>,
                 FieldOf<std::vector<std::int64_t>>, FieldOf<std::vector<double>>,
                 FieldOf<ImageSides>, FieldOf<SplitConfig>, FieldOf<RecomputeConfig>>;

struct Range {  // of a number
  double low = std::numeric_limits<double>::lowest(), high = std::numeric_limits<double>::max();
  bool above_low = false, below_high = false;  // that end itself is excluded

  bool holds(double value) const;
  std::string text() const;  // "from 1 to 1024"; empty if everything is allowed
};

// Files of samples. A kind of data needs all of its training files, and all or none of its
// validation files.
enum class SampleFiles { None, Train, Validation };

// Whether a run may be resumed with another value of the key.
enum class OnResume {
  Same,       // no: it would train another model
  MayDiffer,  // it changes no number of the training
  NewLength,  // the training ends at another step
};

struct Key {
  std::string_view path;
  Field field = {};
  std::string_view help = {};
  Range range = {};                           // numbers: what may be written
  std::vector<std::string_view> values = {};  // words: what may be written; a WordField has them
  bool built = true;                          // false: only `off` may be written
  std::string_view off = {};
  bool bytes = false;  // a whole number of bytes, or "8GiB"
  // The key has a meaning only if `of` (itself a key of words) has one of the values `only`.
  std::string_view of = {};
  std::vector<std::string_view> only = {};
  SampleFiles samples = SampleFiles::None;
  OnResume on_resume = OnResume::Same;

  std::string_view table() const { return path.substr(0, path.rfind('.')); }
  std::string_view name() const { return path.substr(path.rfind('.') + 1); }
};

std::span<const Key> keys();  // in the order of the documentation, table by table
const Key* find_key(std::string_view path);
bool is_table(std::string_view path);  // "pipeline", "pipeline.pipemare"
// The keys of a model file, which may also be in [model].
std::span<const std::string_view> model_file_keys();

// The known key or table nearest to a misspelt one; empty if none is near.
std::string nearest_key(std::string_view path);

}  // namespace pipetrain::config
