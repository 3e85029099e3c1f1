#include "data/text/pieces.hpp"

#include <sentencepiece_processor.h>
#include <spdlog/fmt/fmt.h>

#include <exception>
#include <utility>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "data/byte_file.hpp"
#include "data/library_versions.hpp"
#include "data/text/char_map.hpp"

namespace pipetrain {

namespace {

using sentencepiece::SentencePieceProcessor;
using sentencepiece::util::Status;

[[noreturn]] void refuse(const std::string& source, std::string_view why) {
  throw DataError(
      fmt::format("{}: {}; train a new model of pieces, or copy it again", source, why));
}

std::unique_ptr<SentencePieceProcessor> loaded(std::string_view model, const std::string& source) {
  if (model.empty()) refuse(source, "the file is empty");  // the library would accept it as a model
  constexpr std::string_view damaged = "this is not a SentencePiece model, or it is damaged";
  if (!char_maps_hold(model)) refuse(source, damaged);  // loading encodes the model's own samples
  auto processor = std::make_unique<SentencePieceProcessor>();
  try {
    if (!processor->LoadFromSerializedProto(model).ok()) refuse(source, damaged);
  } catch (const DataError&) {
    throw;
  } catch (const std::exception& error) {
    refuse(source, fmt::format("the SentencePiece model is damaged ({})", error.what()));
  }
  return processor;
}

void require_ok(const Status& status, std::string_view what, const std::string& source) {
  if (!status.ok())
    refuse(source, fmt::format("the SentencePiece model is damaged: it cannot {} ({})", what,
                               printable(status.message())));
}

}  // namespace

std::string_view version_of_sentencepiece() { return PIPETRAIN_SENTENCEPIECE_VERSION; }

Pieces Pieces::read(const std::filesystem::path& file) {
  const std::vector<std::uint8_t> bytes = ByteFile(file).read_all();
  return {{reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string()};
}

Pieces::Pieces(std::string_view model, const std::string& source)
    : model_(loaded(model, source)), source_(source), size_(model_->GetPieceSize()) {
  if (size_ > tokens_max)
    refuse(source, fmt::format("its {} pieces are more than the limit of {}", size_, tokens_max));
  pad_ = special(model_->pad_id(), "pad", source);
  unknown_ = special(model_->unk_id(), "unk", source);
  begin_ = special(model_->bos_id(), "bos", source);
  end_ = special(model_->eos_id(), "eos", source);
}

Pieces::~Pieces() = default;
Pieces::Pieces(Pieces&&) noexcept = default;
Pieces& Pieces::operator=(Pieces&&) noexcept = default;

Token Pieces::special(int id, std::string_view name, const std::string& source) const {
  if (id < 0 || id >= size_)
    refuse(source,
           fmt::format("the model has no piece {}, but pad, unk, bos and eos are needed", name));
  return static_cast<Token>(id);
}

std::vector<Token> Pieces::encode(std::string_view sentence) const {
  std::vector<int> ids;
  require_ok(model_->Encode(sentence, &ids), "encode a sentence", source_);
  std::vector<Token> pieces;
  pieces.reserve(ids.size());
  for (const int id : ids) {
    PIPETRAIN_CHECK(id >= 0 && id < size_, "piece {} of {}", id, size_);
    pieces.push_back(static_cast<Token>(id));
  }
  return pieces;
}

std::string Pieces::decode(std::span<const Token> pieces) const {
  std::vector<int> ids;
  for (const Token piece : pieces) {
    PIPETRAIN_CHECK(piece < size_, "piece {} of {}", piece, size_);
    ids.push_back(piece);
  }
  std::string text;
  require_ok(model_->Decode(ids, &text), "decode pieces", source_);
  return text;
}

std::string Pieces::model() const { return model_->serialized_model_proto(); }

std::string Pieces::spelling(Token piece) const {
  PIPETRAIN_CHECK(piece < size_, "piece {} of {}", piece, size_);
  return model_->IdToPiece(piece);
}

}  // namespace pipetrain
