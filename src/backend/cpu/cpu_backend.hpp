// The fast backend: oneDNN's convolutions and our own vector loops, f32 throughout.
#pragma once

#include "backend/backend.hpp"

namespace pipetrain {

std::unique_ptr<Backend> make_cpu_backend();

}  // namespace pipetrain
