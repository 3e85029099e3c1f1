// What `pipetrain schedule` says beside its pictures: options without effect, and settings under
// which a picture does not show what its schedule is for.
#pragma once

#include <vector>

#include "app/schedule_drawing.hpp"

namespace pipetrain {

std::vector<std::string> notes_on(const std::vector<Drawing>& drawings, const Options& options);

}  // namespace pipetrain
