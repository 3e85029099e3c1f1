// Models of pieces: whatever is accepted as one encodes and decodes any sentence, or is refused
// then.
#include "data/text/pieces.hpp"

#include "target.hpp"

using namespace pipetrain;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  return fuzz::refused_or_read([&] {
    const Pieces pieces(fuzz::text_of(bytes, count), "fuzz");
    for (const Token special : {pieces.pad(), pieces.unknown(), pieces.begin(), pieces.end()})
      fuzz::require(special < pieces.size(), "a special piece is one of the model's");
    for (const std::string_view sentence :
         {"the dog runs", "", " \u3000", "a\u00e9\u2581 \u2585 \u2047\U0001f600 <s></s> <0x41>"}) {
      const std::vector<Token> ids = pieces.encode(sentence);
      for (const Token id : ids) fuzz::require(id < pieces.size(), "a piece is one of the model's");
      pieces.decode(ids);
    }
    for (std::int64_t id = 0; id < pieces.size(); ++id) {
      const auto piece = static_cast<Token>(id);
      pieces.spelling(piece);
      pieces.decode({&piece, 1});
    }
  });
}
