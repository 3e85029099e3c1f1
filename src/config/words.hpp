// Keys that take one of a few words: an enum for each, with the words that a config writes next to
// it, in the order of the enumerators.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/precision.hpp"
#include "schedules.hpp"

namespace pipetrain {

template <class Word>
inline constexpr std::array<std::string_view, 0> words_of{};

enum class DataKind {
  Idx,
  Cifar10,
  Cifar100,
  Npy,
  ImageFolder,
  Text,
  Tokens,
  ParallelText,
  Glyphs,
  Synthetic
};
template <>
inline constexpr auto words_of<DataKind> =
    std::to_array<std::string_view>({"idx", "cifar10", "cifar100", "npy", "image_folder", "text",
                                     "tokens", "parallel_text", "glyphs", "synthetic"});

enum class CifarLabels { Fine, Coarse };
template <>
inline constexpr auto words_of<CifarLabels> = std::to_array<std::string_view>({"fine", "coarse"});

enum class OnBadImage { Stop, Skip };
template <>
inline constexpr auto words_of<OnBadImage> = std::to_array<std::string_view>({"stop", "skip"});

enum class Tokenizer { Characters, Bytes };
template <>
inline constexpr auto words_of<Tokenizer> = std::to_array<std::string_view>({"characters",
                                                                             "bytes"});

enum class SplitRule { Auto, Uniform, Parameters, FirstLayers };  // the last: a list of names
template <>
inline constexpr auto words_of<SplitRule> = std::to_array<std::string_view>({"auto", "uniform",
                                                                             "parameters"});

template <>
inline constexpr auto words_of<Warmup> = warmup_words;

// Which order of nf1b the timeprests run: that of the paper's slots, or the work-conserving one.
enum class TimePrestTimes { Slots, Busy };
template <>
inline constexpr auto words_of<TimePrestTimes> = std::to_array<std::string_view>({"slots", "busy"});

enum class GradientRule { Saved, Recompute };
template <>
inline constexpr auto words_of<GradientRule> = std::to_array<std::string_view>({"saved",
                                                                                "recompute"});

// Does a training move its cuts when its stages turn out uneven?
enum class Rebalance { Off, Auto };
template <>
inline constexpr auto words_of<Rebalance> = std::to_array<std::string_view>({"off", "auto"});

enum class Recompute { None, Stage, Segments, Kinds };  // the last: a list of kinds of layers
template <>
inline constexpr auto words_of<Recompute> = std::to_array<std::string_view>({"none", "stage",
                                                                             "segments"});

template <>
inline constexpr auto words_of<MixRule::Share> =
    std::to_array<std::string_view>({"exp", "inverse", "power_of_two", "constant"});

enum class OptimizerKind { Sgd, Adam, AdamW };
template <>
inline constexpr auto words_of<OptimizerKind> = std::to_array<std::string_view>({"sgd", "adam",
                                                                                 "adamw"});

enum class Decayed { All, Matrices };
template <>
inline constexpr auto words_of<Decayed> = std::to_array<std::string_view>({"all", "matrices"});

enum class LrKind { Constant, Step, Linear, Cosine, InverseSqrt };
template <>
inline constexpr auto words_of<LrKind> =
    std::to_array<std::string_view>({"constant", "step", "linear", "cosine", "inverse_sqrt"});

template <>
inline constexpr auto words_of<Precision> = std::to_array<std::string_view>({"f32", "bf16"});

enum class OnNonfinite { Stop, Skip };
template <>
inline constexpr auto words_of<OnNonfinite> = std::to_array<std::string_view>({"stop", "skip"});

enum class Metric { Loss, Bleu };
template <>
inline constexpr auto words_of<Metric> = std::to_array<std::string_view>({"loss", "bleu"});

enum class Workers { Threads, Inline, Mpi };
template <>
inline constexpr auto words_of<Workers> = std::to_array<std::string_view>({"threads", "inline",
                                                                           "mpi"});

template <class Word>
constexpr std::string_view word_of(Word value) {
  return words_of<Word>.at(static_cast<std::size_t>(value));
}

template <class Word>
constexpr std::optional<Word> word_named(std::string_view word) {
  for (std::size_t i = 0; i < words_of<Word>.size(); ++i)
    if (words_of<Word>[i] == word) return static_cast<Word>(i);
  return std::nullopt;
}

}  // namespace pipetrain
