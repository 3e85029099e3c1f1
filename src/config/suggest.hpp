// "did you mean": the nearest of the valid words, where one is near enough to be a slip.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pipetrain {

// Letters inserted, deleted, replaced or swapped with their neighbour (optimal string alignment).
int edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `word`; none where even that one differs in more than a third of it.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates);

// "; did you mean X?" or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace pipetrain
