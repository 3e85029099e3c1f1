// The table by which a SentencePiece model rewrites characters before it cuts a sentence into
// pieces. The library walks through it without a look at its bounds, so that a damaged file would
// end the program; here it is walked through once, in all ways there are.
#pragma once

#include <string_view>

namespace pipetrain {

// Whether no sentence leads out of the tables that the bytes of a model hold. False too where the
// bytes are no message of Protocol Buffers.
bool char_maps_hold(std::string_view model);

}  // namespace pipetrain
