// What oneDNN reports about itself and this machine. Includes none of its headers.
#pragma once

#include <string>
#include <string_view>

namespace pipetrain::cpu {

std::string onednn_version();            // "3.2.0 (0ed0e6f5)": version and commit
std::string_view onednn_instructions();  // "AVX-512": the widest that its kernels use here

}  // namespace pipetrain::cpu
