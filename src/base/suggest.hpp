// "did you mean": the known word nearest to the one that a user wrote.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pipetrain {

// Letters inserted, deleted, replaced or swapped with their neighbour: the optimal string alignment
// distance.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The known word nearest to `word`, whatever its case, the first of several equally near. None if
// even that one differs in more than a third of the longer word, or in every letter.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> known);

// "; did you mean 'conv2d'?", to put at the end of a message; "" if no word is near.
std::string suggest(std::string_view word, std::span<const std::string_view> known);

}  // namespace pipetrain
