#include "app/logging.hpp"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/line_output.hpp"

namespace pipetrain {
namespace {

class LineSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    try {
      standard_error().write({text.data(), text.size()});
    } catch (const DeviceError&) {  // there is nowhere left to report it
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

void set_up_logging(const Options& options) {
  auto logger = std::make_shared<spdlog::logger>("pipetrain", std::make_shared<LineSink>());
  logger->set_pattern("%v");
  logger->set_level(options.quiet ? spdlog::level::warn
                                  : spdlog::level::from_str(options.log_level));
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace pipetrain
