#include "data/text/train_pieces.hpp"

#include <sentencepiece_trainer.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <regex>
#include <unordered_map>

#include "base/error.hpp"
#include "base/suggest.hpp"
#include "data/text/line_file.hpp"
#include "data/text/vocabulary.hpp"

namespace pipetrain {

namespace {

using sentencepiece::util::Status;
using sentencepiece::util::StatusCode;

constexpr std::array<std::string_view, 2> piece_kinds = {"unigram", "bpe"};
constexpr int special_pieces = 4;

void check(const PieceTraining& options) {
  if (std::ranges::find(piece_kinds, options.kind) == piece_kinds.end())
    throw UsageError(fmt::format("there is no kind of pieces \"{}\"; write one of: {}{}",
                                 options.kind, fmt::join(piece_kinds, ", "),
                                 suggest(options.kind, piece_kinds)));
  if (options.vocabulary <= special_pieces || options.vocabulary > tokens_max)
    throw UsageError(
        fmt::format("a vocabulary of {} pieces is out of range; write a whole number from {} to {}",
                    options.vocabulary, special_pieces + 1, tokens_max));
}

// Gives the library the lines of all files. Keeps failures while reading, so that no exception
// passes through the library.
class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(const std::vector<std::filesystem::path>& files) : files_(files) { advance(); }

  bool done() const override { return done_; }
  const std::string& value() const override { return sentence_; }
  void Next() override { advance(); }
  Status status() const override {
    return failure_ ? Status(StatusCode::kDataLoss, "a file cannot be read") : Status();
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }
  bool any_text() const { return any_text_; }

 private:
  void advance() {
    try {
      done_ = !read_next();
    } catch (...) {
      failure_ = std::current_exception();
      done_ = true;
    }
  }

  bool read_next() {
    while (open_ || opened_ < files_.size()) {
      if (!open_) open_ = std::make_unique<LineFile>(files_[opened_++]);
      if (const auto line = open_->next()) {
        sentence_ = *line;
        any_text_ |= sentence_.find_first_not_of(" \t\v\f\r") != std::string::npos;
        return true;
      }
      open_.reset();
    }
    return false;
  }

  const std::vector<std::filesystem::path>& files_;
  std::size_t opened_ = 0;
  std::unique_ptr<LineFile> open_;
  std::string sentence_;
  bool done_ = false, any_text_ = false;
  std::exception_ptr failure_;
};

std::string name_of(const PieceTraining& options) {  // for messages
  const std::size_t more = options.files.size() - 1;
  return options.files.front().string() + (more > 0 ? fmt::format(" and {} more", more) : "");
}

// The library must not be called for texts without a word.
void require_text(const PieceTraining& options) {
  if (options.files.empty()) throw UsageError("pieces are learnt from a text; name its file");
  Sentences sentences(options.files);
  while (!sentences.done() && !sentences.any_text()) sentences.Next();
  sentences.rethrow();
  if (!sentences.any_text())
    throw DataError(fmt::format("{}: there is no text in it; name a file of sentences, one a line",
                                name_of(options)));
}

std::unordered_map<std::string, std::string> settings(const PieceTraining& options) {
  return {
      {"model_type", options.kind},
      {"vocab_size", std::to_string(options.vocabulary)},
      {"character_coverage", "1.0"},
      {"pad_id", "0"},
      {"unk_id", "1"},
      {"bos_id", "2"},
      {"eos_id", "3"},
      {"num_threads", "1"},
      {"input_sentence_size", "0"},  // all sentences, so that none are sampled
      {"max_sentence_length", std::to_string(line_bytes_max)},  // else longer ones are left out
      {"minloglevel", "3"},                                     // silence on stderr
  };
}

// The library's message says what does not fit and contains the bound that the user needs.
[[noreturn]] void refuse(const PieceTraining& options, const std::string& said) {
  const std::string where = name_of(options);
  std::smatch found;
  if (std::regex_search(said, found, std::regex("set it to a value <= ([0-9]+)")))
    throw UsageError(
        fmt::format("{}: {} pieces are more than this text has; write a vocabulary of at most {}",
                    where, options.vocabulary, found[1].str()));
  if (std::regex_search(said, found, std::regex("required_chars\\. [0-9]+ vs ([0-9]+)")))
    throw UsageError(fmt::format(
        "{}: {} pieces are too few: its characters and {} special pieces alone are {}; write a "
        "larger vocabulary",
        where, options.vocabulary, special_pieces, found[1].str()));
  throw DataError(fmt::format(
      "{}: SentencePiece cannot learn {} pieces of this text: {}; try a smaller vocabulary, or "
      "more text",
      where, options.vocabulary, said));
}

}  // namespace

std::string train_pieces(const PieceTraining& options) {
  check(options);
  require_text(options);
  Sentences sentences(options.files);
  std::string model;
  const Status status =
      sentencepiece::SentencePieceTrainer::Train(settings(options), &sentences, &model);
  sentences.rethrow();
  if (!status.ok()) refuse(options, status.message());
  return model;
}

void write_pieces(std::string_view model, const std::filesystem::path& file) {
  const std::filesystem::path part = file.string() + ".part";
  const auto refuse = [&](int reason) {
    ::unlink(part.c_str());
    throw DeviceError(fmt::format("{}: cannot be written: {}; check the disk and its permissions",
                                  file.string(), std::strerror(reason)));
  };
  std::FILE* out = std::fopen(part.c_str(), "wb");
  if (!out) refuse(errno);
  const bool written = std::fwrite(model.data(), 1, model.size(), out) == model.size() &&
                       std::fflush(out) == 0 && ::fsync(::fileno(out)) == 0;
  const int reason = errno;
  const bool closed = std::fclose(out) == 0;
  if (!written || !closed) refuse(written ? errno : reason);
  if (std::rename(part.c_str(), file.c_str()) != 0) refuse(errno);
}

}  // namespace pipetrain
