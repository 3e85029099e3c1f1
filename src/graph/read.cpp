#include "graph/read.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/check.hpp"
#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/printable.hpp"
#include "base/suggest.hpp"
#include "graph/build.hpp"
#include "graph/fields.hpp"
#include "graph/graph.hpp"
#include "graph/shapes.hpp"

namespace pipetrain {
using namespace model_file;

namespace {

constexpr std::int64_t kMostTokens = std::int64_t{1} << 30;  // in a vocabulary
constexpr std::array<std::string_view, 2> kLosses = {"cross_entropy", "mse"};

Loss read_loss(Fields& fields, Problems& problems) {
  const std::string written = fields.text("loss", std::string(kLosses[0]));
  if (written == kLosses[1]) return Loss::Mse;
  if (written != kLosses[0]) {
    const std::string near = suggest(written, kLosses);
    problems.add(fields.at("loss"),
                 fmt::format("there is no loss '{}'{}", written,
                             near.empty() ? "; write \"cross_entropy\" or \"mse\"" : near));
  }
  return Loss::CrossEntropy;
}

double read_label_smoothing(Fields& fields, Loss loss, Problems& problems) {
  const double smoothing = fields.number(
      "label_smoothing", 0, {[](double x) { return x >= 0 && x < 1; }, "at least 0 and below 1"});
  if (smoothing > 0 && loss == Loss::Mse)
    problems.add(fields.at("label_smoothing"),
                 "label_smoothing is for labels, but mse has none; leave it out, or write loss = "
                 "\"cross_entropy\"");
  return smoothing;
}

bool is_dimension(const Value& value) {
  const auto* dim = std::get_if<std::int64_t>(&value.data);
  return dim && *dim > 0;
}

// The tokens of two sides, which the model finds under the names "source" and "target".
Shape read_sides(Fields& fields, std::int64_t& target_tokens, Problems& problems) {
  const std::int64_t source = fields.size("source"), target = fields.size("target"),
                     vocabulary = fields.size("vocabulary", {}, 2);
  if (!fields.finish()) return {};
  const bool fits = source <= kMostTokens && target <= kMostTokens && vocabulary <= kMostTokens;
  if (!fits)
    problems.add(fields.at(), "these are too large for any machine; write smaller numbers");
  else
    target_tokens = target;
  return fits ? Shape{{source + target}, vocabulary} : Shape{};
}

// The model's input shape; empty, with a problem reported, if it is missing or wrong.
Shape read_input(const Value& table, std::int64_t& target_tokens, Problems& problems) {
  Fields fields(table, "input", kNoTable, problems);
  const auto* entries = std::get_if<Table>(&table.data);
  if (entries && (find(*entries, "source") || find(*entries, "target")))
    return read_sides(fields, target_tokens, problems);
  if (entries && (find(*entries, "tokens") || find(*entries, "vocabulary"))) {
    const std::int64_t length = fields.size("tokens"),
                       vocabulary = fields.size("vocabulary", {}, 2);
    if (!fields.finish()) return {};
    const Shape tokens{{length}, vocabulary};
    if (reasonable(tokens) && vocabulary <= kMostTokens) return tokens;
    problems.add(table.at, "these are too large for any machine; write smaller numbers");
    return {};
  }
  const List* list = fields.list("shape");
  Shape shape;
  for (const Value& value : list ? *list : List{})
    if (is_dimension(value)) shape.dims.push_back(std::get<std::int64_t>(value.data));
  fields.finish();
  if (fields.misspelt("shape")) return {};
  const bool fits = !shape.dims.empty() && shape.dims.size() <= 3 && list &&
                    list->size() == shape.dims.size() && reasonable(shape);
  if (fits) return shape;
  problems.add(fields.at("shape"),
               "input's shape must be [channels, height, width], [T, features] or [features], of "
               "whole numbers from 1; write input = { shape = [1, 28, 28] }");
  return {};
}

void check_loss(const Graph& graph, Position at, Problems& problems) {
  const Layer& last = graph.layers.back();
  const bool classes = last.output.dims.size() <= 2 && last.output.dims.back() >= 2;
  if (graph.loss == Loss::CrossEntropy && !classes)
    problems.add(
        at, fmt::format(
                "cross_entropy needs a [classes] or [T, classes] output of two or more, but the "
                "last layer '{}' makes {}; end in a flatten and a linear layer, "
                "or write loss = \"mse\"",
                last.name, last.output.text()));
}

std::string load(const std::filesystem::path& file) {
  try {
    return read_whole_file(file);
  } catch (const CannotRead& error) {
    throw UsageError(fmt::format("model.file = \"{}\" cannot be read: {}; name a model file (TOML)",
                                 printable(file.string()), error.why()));
  }
}

// A model file that is written like a config.
void refuse_model_table(const Value& text, Problems& problems) {
  const Entry* const model = find(std::get<Table>(text.data), "model");
  if (!model || !std::holds_alternative<Table>(model->value.data)) return;
  problems.add(model->at,
               "a model file has its keys at the top; remove [model], and write [[layers]] for "
               "[[model.layers]]");
  problems.throw_if_any();
}

Graph read(const Value& text, const std::string& origin) {
  Problems problems(origin);
  refuse_model_table(text, problems);
  Fields fields(text, "the model", kNoTable, problems);
  Graph graph;
  graph.name = fields.text("name", printable(std::filesystem::path(origin).stem().string()));
  graph.loss = read_loss(fields, problems);
  graph.label_smoothing = read_label_smoothing(fields, graph.loss, problems);
  const Table* blocks = fields.table("blocks");
  const List* layers = fields.list("layers");
  const Table* input = fields.table("input");
  fields.finish();
  if (!find(std::get<Table>(text.data), "input") && !fields.misspelt("input"))
    problems.add(text.at, "the model has no input; write input = { shape = [1, 28, 28] }");
  if ((!layers || layers->empty()) && !fields.misspelt("layers"))
    problems.add(text.at, "the model has no layers; write at least one [[layers]]");
  if (input) graph.input = read_input({fields.at("input"), *input}, graph.target_tokens, problems);
  if (fields.misspelt("layers") || fields.misspelt("blocks")) problems.throw_if_any();
  build_layers(layers ? *layers : List{}, blocks ? *blocks : kNoTable, fields.at("input"), graph,
               problems);
  if (!problems.any()) check_loss(graph, layers->back().at, problems);
  problems.throw_if_any();
  return graph;
}

}  // namespace

Graph read_model_text(const std::string& toml, const std::string& origin) {
  return read({{1, 1}, parse_model_text(toml, origin)}, origin);
}

Graph read_inline_model(const std::filesystem::path& config) {
  const Table whole = parse_model_text(load(config), config.string());
  const Entry* const model = find(whole, "model");
  PIPETRAIN_CHECK(model && std::holds_alternative<Table>(model->value.data), "{} has no [model]",
                  config.string());
  constexpr std::array<std::string_view, 3> of_the_config = {"init", "init_ignore", "trainable"};
  Table part;
  for (const Entry& entry : std::get<Table>(model->value.data))
    if (std::ranges::find(of_the_config, entry.key) == of_the_config.end()) part.push_back(entry);
  return read({model->value.at, std::move(part)}, config.string());
}

Graph read_model(const std::filesystem::path& file) {
  return read_model_text(load(file), file.string());
}

}  // namespace pipetrain
