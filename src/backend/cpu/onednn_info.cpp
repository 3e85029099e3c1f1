#include "backend/cpu/onednn_info.hpp"

#include <dnnl.h>
#include <spdlog/fmt/fmt.h>

namespace pipetrain::cpu {

std::string onednn_version() {
  const dnnl_version_t* found = dnnl_version();
  return fmt::format("{}.{}.{} ({})", found->major, found->minor, found->patch,
                     std::string_view(found->hash).substr(0, 8));
}

std::string_view onednn_instructions() {
  switch (dnnl_get_effective_cpu_isa()) {
    case dnnl_cpu_isa_sse41:
      return "SSE4.1";
    case dnnl_cpu_isa_avx:
      return "AVX";
    case dnnl_cpu_isa_avx2:
      return "AVX2";
    case dnnl_cpu_isa_avx2_vnni:
      return "AVX2-VNNI";
    case dnnl_cpu_isa_avx512_core:
      return "AVX-512";
    case dnnl_cpu_isa_avx512_core_vnni:
      return "AVX-512 VNNI";
    case dnnl_cpu_isa_avx512_core_bf16:
      return "AVX-512 BF16";
    case dnnl_cpu_isa_avx512_core_fp16:
      return "AVX-512 FP16";
    case dnnl_cpu_isa_avx512_core_amx:
      return "AMX";
    case dnnl_cpu_isa_avx512_core_amx_fp16:
      return "AMX FP16";
    default:
      return "all that the CPU has";
  }
}

}  // namespace pipetrain::cpu
