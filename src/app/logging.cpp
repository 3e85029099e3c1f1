#include "app/logging.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/ink.hpp"
#include "base/line_output.hpp"

namespace pipetrain {
namespace {

// Until the command line has been read as far as --color: as without that option.
bool& standard_error_takes_colour() {
  static bool takes = takes_colour("auto", STDERR_FILENO);
  return takes;
}

class LineSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    const std::string_view line(text.data(), text.size());
    const bool warns = message.level == spdlog::level::warn && standard_error_takes_colour();
    try {
      standard_error().write(warns ? inked(line.substr(0, line.size() - 1), Ink::Yellow) + "\n"
                                   : std::string(line));
    } catch (const DeviceError&) {  // there is no place left to report it
    }
  }
  void flush_() override {}
};

}  // namespace

void log_to(const std::filesystem::path& file) try {
  auto logger = std::make_shared<spdlog::logger>(
      "pipetrain", std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.string()));
  logger->set_pattern("%Y-%m-%d %H:%M:%S %v");
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
} catch (const spdlog::spdlog_ex& error) {
  throw DeviceError(error.what());
}

void print_error(std::string_view message) {
  const Ink ink = standard_error_takes_colour() ? Ink::Red : Ink::Plain;
  standard_error().keep(inked(message, ink) + "\n");
}

void set_up_logging(const Options& options) {
  auto logger = std::make_shared<spdlog::logger>("pipetrain", std::make_shared<LineSink>());
  logger->set_pattern("%v");
  standard_error_takes_colour() = takes_colour(options.color, STDERR_FILENO);
  logger->set_level(options.quiet ? spdlog::level::warn
                                  : spdlog::level::from_str(options.log_level));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace pipetrain
