// Notes that `pipetrain schedule` prints with its pictures: options without effect, and settings
// that hide what distinguishes a schedule.
#pragma once

#include <vector>

#include "app/schedule_drawing.hpp"

namespace pipetrain {

std::vector<std::string> notes_on(const std::vector<Drawing>& drawings, const Options& options);

}  // namespace pipetrain
