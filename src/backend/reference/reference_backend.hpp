// The backend of plain loops: slow, readable, the definition of what every layer computes.
#pragma once

#include "backend/backend.hpp"

namespace pipetrain {

std::unique_ptr<Backend> make_reference_backend();

}  // namespace pipetrain
