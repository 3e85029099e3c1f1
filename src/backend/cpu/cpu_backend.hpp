// The fast backend: oneDNN's convolutions and our own vector loops. With bf16, values are stored as
// bf16, and oneDNN multiplies them as bf16 or as f32.
#pragma once

#include "backend/backend.hpp"
#include "backend/cpu/linear/products.hpp"

namespace pipetrain {

std::unique_ptr<Backend> make_cpu_backend();  // with products_here()
std::unique_ptr<Backend> make_cpu_backend(cpu::Products of_bf16);

}  // namespace pipetrain
