// The clusters that papers measured on, as cluster files of our own making. What a paper says about
// them is in the summary; every number that the comment calls assumed is ours (bandwidths are the
// bytes per second that a transfer gets; no latency where none is published).
#include "plan/cluster/read.hpp"

namespace pipetrain {
namespace {

// PipeDream, SOSP'19, section 5.1. Assumed: 16 and 12 GB as GiB; the bandwidth of one pair over
// PCIe and NVLink. Speed 1: a profile's times are those of the cluster's own GPU.
constexpr std::string_view kPipedreamA = R"(
[[devices]]
name = "v100"
count = 16
memory = "16GiB"
[[levels]]
name = "pcie"
size = 4
bandwidth = 12e9
shared = true
[[levels]]
name = "network"
size = 4
bandwidth = 1.25e9
)";

constexpr std::string_view kPipedreamB = R"(
[[devices]]
name = "v100"
count = 16
memory = "16GiB"
[[levels]]
name = "nvlink"
size = 8
bandwidth = 30e9
[[levels]]
name = "network"
size = 2
bandwidth = 3.125e9
)";

constexpr std::string_view kPipedreamC = R"(
[[devices]]
name = "titan-x"
count = 4
memory = "12GiB"
[[levels]]
name = "network"
size = 4
bandwidth = 5e9
)";

// BaPipe, arXiv 2012.12544. We could not obtain its body, so all of this is assumed: the V100s and
// their PCIe, the boards with their memory and links, and that a board's speed is proportional to
// its DSP slices (12,288 in a VCU129, 6,840 in a VCU118).
constexpr std::string_view kBapipeGpu4 = R"(
[[devices]]
name = "v100"
count = 4
memory = "16GiB"
[[levels]]
name = "pcie"
size = 4
bandwidth = 12e9
)";

constexpr std::string_view kBapipeGpu8 = R"(
[[devices]]
name = "v100"
count = 8
memory = "16GiB"
[[levels]]
name = "pcie"
size = 8
bandwidth = 12e9
)";

constexpr std::string_view kBapipeFpga4 = R"(
[[devices]]
name = "vcu118"
count = 4
memory = "8GiB"
execution = "async"
[[levels]]
name = "cable"
size = 4
bandwidth = 12.5e9
)";

constexpr std::string_view kBapipeFpgaMixed = R"(
[[devices]]
name = "vcu129"
count = 2
speed = 1.8
memory = "8GiB"
execution = "async"
[[devices]]
name = "vcu118"
count = 2
memory = "8GiB"
execution = "async"
[[levels]]
name = "cable"
size = 4
bandwidth = 12.5e9
)";

constexpr ClusterPreset kPresets[] = {
    {"pipedream-a", "4 servers of 4 V100 on PCIe, 10 Gbit/s", kPipedreamA},
    {"pipedream-b", "2 servers of 8 V100 on NVLink, 25 Gbit/s", kPipedreamB},
    {"pipedream-c", "4 servers of 1 Titan X, 40 Gbit/s", kPipedreamC},
    {"bapipe-gpu-4", "4 V100 on PCIe (assumed)", kBapipeGpu4},
    {"bapipe-gpu-8", "8 V100 on PCIe (assumed)", kBapipeGpu8},
    {"bapipe-fpga-4", "4 VCU118 boards (assumed)", kBapipeFpga4},
    {"bapipe-fpga-mixed", "2 VCU129 and 2 VCU118 boards (assumed)", kBapipeFpgaMixed},
};

}  // namespace

std::span<const ClusterPreset> cluster_presets() { return kPresets; }

}  // namespace pipetrain
