// "did you mean": the known word nearest to one that a user wrote.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pipetrain {

// "; did you mean 'conv2d'?" or "" where nothing is near. Ready to stand at the end of a message.
std::string suggest(std::string_view word, std::span<const std::string_view> known);

}  // namespace pipetrain
