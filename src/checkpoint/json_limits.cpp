#include "checkpoint/json_limits.hpp"

#include <spdlog/fmt/fmt.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace pipetrain {
namespace {

// Sees every value as the parser meets it, and stops the parser at the first problem.
class Watch final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Watch(const JsonLimits& limits) : limits_(limits) {}

  const std::string& problem() const { return problem_; }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(nlohmann::json::number_integer_t) override { return value(); }
  bool number_unsigned(nlohmann::json::number_unsigned_t) override { return value(); }
  bool number_float(nlohmann::json::number_float_t, const nlohmann::json::string_t&) override {
    return value();
  }
  bool string(nlohmann::json::string_t&) override { return value(); }
  bool binary(nlohmann::json::binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(nlohmann::json::string_t& key) override {
    std::set<std::string>& keys = open_.back();
    if (!keys.insert(key).second) return stop(fmt::format("has the key '{}' twice", key));
    if (keys.size() <= limits_.members) return true;
    return stop(fmt::format("has an object of more than {} members", limits_.members));
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override {
    return stop("is not a JSON object");
  }

 private:
  bool stop(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool value() {
    if (open_.empty()) return stop("is not a JSON object");
    if (++values_ <= limits_.values) return true;
    return stop(fmt::format("has more than {} values", limits_.values));
  }
  bool open(bool object) {
    if (!(open_.empty() && object) && !value()) return false;
    open_.emplace_back();
    if (open_.size() <= limits_.depth) return true;
    return stop(fmt::format("has more than {} levels of arrays and objects", limits_.depth));
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  JsonLimits limits_;
  std::size_t values_ = 0;
  std::vector<std::set<std::string>> open_;  // keys of enclosing objects; arrays: none
  std::string problem_;
};

}  // namespace

std::string json_problem(const std::string& text, const JsonLimits& limits) {
  Watch watch(limits);
  nlohmann::json::sax_parse(text, &watch);
  return watch.problem();
}

}  // namespace pipetrain
