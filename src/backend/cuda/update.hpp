// What a device's stream does to parameters and gradients (backend/stream.hpp).
#pragma once

#include "backend/cuda/device_stream.hpp"

namespace pipetrain::cuda {

void update(DeviceStream& stream, const UpdateRule& rule, const UpdateArguments& arguments);
void combine(DeviceStream& stream, const Combination& combination);
void add_up(DeviceStream& stream, const Summation& summation);
void sum_of_squares(DeviceStream& stream, const float* values, std::int64_t elements,
                    double* result);
void add_values(DeviceStream& stream, float* a, const float* b, std::int64_t elements);  // a += b

}  // namespace pipetrain::cuda
