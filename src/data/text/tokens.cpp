// `tokens`: files of 16-bit tokens, little-endian, as two projects write them and told apart by
// their first four bytes; plain or gzip, read completely.
//
//   llm.c     256 int32: magic 20240520, version 1, number of tokens, 0 ...; then the tokens
//   nanoGPT   the tokens
#include <spdlog/fmt/fmt.h>

#include <utility>

#include "base/error.hpp"
#include "data/byte_file.hpp"
#include "data/formats.hpp"
#include "data/text/windows.hpp"

namespace pipetrain {

namespace {

constexpr std::uint32_t magic = 20240520;
constexpr std::size_t header_bytes = 256 * 4;
constexpr std::size_t token_bytes = sizeof(Token);

using Bytes = std::vector<std::uint8_t>;

std::uint32_t integer(const Bytes& bytes, std::size_t index) {  // from the header
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;) value = value << 8 | bytes[4 * index + i];
  return value;
}

bool has_header(const Bytes& bytes) { return bytes.size() >= 4 && integer(bytes, 0) == magic; }

void check_header(const ByteFile& file, const Bytes& bytes) {
  if (bytes.size() < header_bytes)
    file.fail(
        fmt::format("it begins like llm.c's files, but its {} bytes are fewer than their header of "
                    "{}: the file is truncated",
                    bytes.size(), header_bytes));
  if (integer(bytes, 1) != 1)
    file.fail(
        fmt::format("llm.c's files of 16-bit tokens have version 1, but this one has {}; write the "
                    "tokens again with a tokenizer of at most {} tokens",
                    integer(bytes, 1), tokens_max));
  const std::size_t claimed = integer(bytes, 2), held = (bytes.size() - header_bytes);
  if (claimed * token_bytes != held)
    file.fail(
        fmt::format("the header says {} tokens of {} bytes, but {} bytes follow it: the "
                    "file is truncated or its header is damaged",
                    claimed, token_bytes, held));
}

std::vector<Token> tokens_in(const ByteFile& file, const Bytes& bytes) {
  const bool header = has_header(bytes);
  if (header) check_header(file, bytes);
  if (bytes.empty()) file.fail("the file is empty; copy it again");
  if (bytes.size() % token_bytes != 0)
    file.fail(
        fmt::format("{} bytes are not a whole number of 16-bit tokens: the file is truncated, "
                    "or of another kind",
                    bytes.size()));
  std::vector<Token> tokens;
  tokens.reserve(bytes.size() / token_bytes);
  for (std::size_t at = header ? header_bytes : 0; at < bytes.size(); at += token_bytes)
    tokens.push_back(static_cast<Token>(bytes[at] | bytes[at + 1] << 8));
  return tokens;
}

void check_tokens(const ByteFile& file, const std::vector<Token>& tokens, std::int64_t vocabulary) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] >= vocabulary)
      file.fail(
          fmt::format("token {} is {}, but the model's are 0..{}; name a file made with its "
                      "tokenizer, or write a larger vocabulary in the model's input and the same "
                      "number of out_features in its last layer",
                      i, tokens[i], vocabulary - 1));
}

std::vector<TokenSpan> spans_of(const std::vector<std::filesystem::path>& files,
                                std::int64_t vocabulary) {
  std::vector<TokenSpan> spans;
  for (const std::filesystem::path& path : files) {
    ByteFile file(path);
    auto tokens = std::make_shared<const std::vector<Token>>(tokens_in(file, file.read_all()));
    check_tokens(file, *tokens, vocabulary);
    const auto count = static_cast<std::int64_t>(tokens->size());
    spans.push_back({std::move(tokens), 0, count, path});
  }
  return spans;
}

}  // namespace

Sequences read_tokens(const DataConfig& config, const Graph& graph) {
  require_token_model("data.kind = \"tokens\"", graph);
  const std::int64_t vocabulary = model_vocabulary(graph);
  Sequences sequences{spans_of(config.train_tokens, vocabulary),
                      spans_of(config.validation_tokens, vocabulary), nullptr};
  if (!config.vocabulary.empty())
    sequences.vocabulary = std::make_shared<const Vocabulary>(Vocabulary::read(config.vocabulary));
  return sequences;
}

}  // namespace pipetrain
