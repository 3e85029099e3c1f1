// Which vector instructions this process may use: those of the processor, but no more than oneDNN
// was told to use. So ONEDNN_MAX_CPU_ISA (SSE41, AVX2, AVX512_CORE ..) shows on any machine what a
// lesser one would do.
#pragma once

#include <cstdint>

namespace pipetrain::cpu {

enum class InstructionSet : std::uint8_t { Portable, Avx2, Avx512, Avx512Bf16 };

// The widest set; the same throughout the process. Thread-safe.
InstructionSet instruction_set();
inline bool has_avx512() { return instruction_set() >= InstructionSet::Avx512; }

}  // namespace pipetrain::cpu
