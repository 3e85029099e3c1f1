// report.html: one page about one run, or several side by side. One file that needs no network and
// no script; curves are thinned, so it stays small whatever the length of the run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/run_record.hpp"

namespace pipetrain {

inline constexpr const char* report_file = "report.html";

// Reads run directories; names that several have become their paths. Throws as read_run does.
std::vector<RunRecord> read_runs(const std::vector<std::filesystem::path>& folders);

// `target`: of the validations, for "time to"; none: what every run reached.
std::string report_html(const std::vector<RunRecord>& runs, std::optional<double> target = {});

// The page of a run into its folder. DeviceError where the disk refuses it.
void write_report(const std::filesystem::path& folder);

}  // namespace pipetrain
