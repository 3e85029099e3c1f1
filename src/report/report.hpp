// report.html: one page about one run, or about several side by side. A single file that needs
// neither network nor scripts; curves are thinned, so it stays small however long the run is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/run_record.hpp"

namespace pipetrain {

inline constexpr const char* report_file = "report.html";

// Reads run directories; runs with equal names are named by their paths. Throws like read_run().
std::vector<RunRecord> read_runs(const std::vector<std::filesystem::path>& folders);

// `target`: for the validations, for "time to"; none: what every run reached.
std::string report_html(const std::vector<RunRecord>& runs, std::optional<double> target = {});

// Writes a run's page into its folder. DeviceError if the disk refuses it.
void write_report(const std::filesystem::path& folder);

}  // namespace pipetrain
