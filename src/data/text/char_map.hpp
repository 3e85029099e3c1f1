// The table by which a SentencePiece model rewrites characters before it cuts a sentence into
// pieces. The library follows it without checking bounds, so a damaged file would crash the
// program; here every possible path through the table is checked once.
#pragma once

#include <string_view>

namespace pipetrain {

// Is it impossible for a sentence to lead outside the tables in a model's bytes? Also false if the
// bytes are not a Protocol Buffers message.
bool char_maps_hold(std::string_view model);

}  // namespace pipetrain
