// "did you mean": the known word nearest to one that a user wrote.
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

// The known word nearest to `word`, the first of equals; none where even that one differs in more
// than a third of the longer word, or in every letter.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> known);

// "; did you mean 'conv2d'?" or "" where nothing is near. Ready to be at the end of a message.
std::string suggest(std::string_view word, std::span<const std::string_view> known);

}  // namespace pipetrain
