#include "graph/build.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/suggest.hpp"
#include "graph/blocks.hpp"
#include "graph/fields.hpp"
#include "graph/graph.hpp"
#include "graph/kinds.hpp"
#include "graph/shapes.hpp"
#include "graph/tied.hpp"

namespace pipetrain::model_file {
namespace {

// Where names are looked up: in the model itself, or in one copy of a block. In a block, "input" is
// what the block reads, and a name that is not its own is looked up in the model, as a full name.
// Outside, a block's name means the output of its last layer.
struct Scope {
  std::string prefix;  // "layer1.0."
  std::string where;   // " in block 'residual'"
  ValueId input;
  const Table* parameters;                // the block's "$name"s
  std::set<std::string> names;            // every layer of the list, later ones too
  std::map<std::string, ValueId> values;  // the outputs of earlier layers
};

class Builder {
 public:
  Builder(const Table& blocks, Graph& graph, Problems& problems)
      : blocks_(blocks), graph_(graph), problems_(problems), shapes_(1) {
    if (!graph.input.dims.empty()) shapes_[0] = graph.input;
  }

  // Adds the two parts of an input of two sides as layers, with names for the model's own list.
  void add_sides(Position at, Scope& scope);
  ValueId add_list(const List& list, Scope scope);  // returns the last layer's output
  void check_outputs_are_read();
  void check_blocks_are_used();

 private:
  void take_name(Fields& fields, const std::string& name, const Scope& scope);
  std::vector<ValueId> read_inputs(Fields& fields, const Scope& scope, ValueId before);
  std::optional<ValueId> look_up(const std::string& name, const Fields& fields, const Scope& scope);
  ValueId add_layer(const Value& table, const std::string& name, const Scope& scope,
                    ValueId before);
  ValueId add_block(const Value& table, const std::string& name, Scope& scope, ValueId before);
  void infer(Layer& layer, Position at, std::optional<Shape>& shape);
  void tie(Layer& layer, const std::string& named, const Fields& fields, const Scope& scope);
  std::optional<LayerId> find_owner(const std::string& named, const Fields& fields,
                                    const Scope& scope);
  ValueId append(Layer layer, std::optional<Shape> shape, Position at);

  const Table& blocks_;
  Graph& graph_;
  Problems& problems_;
  std::vector<std::optional<Shape>> shapes_;  // of every value; none if a problem hides it
  std::vector<Position> positions_;           // of every layer
  std::map<std::string, Position> taken_;     // full names
  std::map<std::string, ValueId> values_;     // by full name: the output of a layer or block
  std::vector<std::string> open_blocks_;
  std::set<std::string> used_blocks_;
};

std::string name_of(const Value& table) {
  const auto* entries = std::get_if<Table>(&table.data);
  const Entry* name = entries ? find(*entries, "name") : nullptr;
  const auto* text = name ? std::get_if<std::string>(&name->value.data) : nullptr;
  return text ? *text : "";
}

bool has_block(const Value& table) {
  const auto* entries = std::get_if<Table>(&table.data);
  return entries && find(*entries, "block");
}

std::string title(std::string_view kind, const std::string& name) {
  return name.empty() ? fmt::format("a {} without a name", kind)
                      : fmt::format("{} '{}'", kind, name);
}

bool is_name(const std::string& name) {
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return name != "input" && std::all_of(name.begin(), name.end(), legal) && name.front() != '.' &&
         name.back() != '.' && name.find("..") == std::string::npos;
}

void Builder::take_name(Fields& fields, const std::string& name, const Scope& scope) {
  fields.text("name");
  if (name.empty()) return;  // missing or not a text: Fields reports it
  const Position at = fields.at("name");
  if (!is_name(name))
    problems_.add(at, fmt::format("'{}' cannot be a layer's name; use letters, digits, _, - and "
                                  "single dots between them, and not 'input'",
                                  name));
  const auto [first, fresh] = taken_.emplace(scope.prefix + name, at);
  if (!fresh)
    problems_.add(at, fmt::format("the name '{}' is taken at line {}; use another",
                                  scope.prefix + name, first->second.line));
}

std::optional<ValueId> Builder::look_up(const std::string& name, const Fields& fields,
                                        const Scope& scope) {
  if (name == "input") return scope.input;
  if (const auto made = scope.values.find(name); made != scope.values.end()) return made->second;
  const Position at = fields.at("inputs");
  if (scope.names.contains(name)) {
    problems_.add(at, fmt::format("{} reads '{}', which is not above it; layers read what is above "
                                  "them, so change the order",
                                  fields.what(), name));
    return std::nullopt;
  }
  if (const auto made = values_.find(name); made != values_.end()) return made->second;
  std::vector<std::string_view> known = {"input"};
  for (const std::string& other : scope.names) known.push_back(other);
  for (const auto& [other, value] : values_) known.push_back(other);
  const std::string near = suggest(name, known);
  problems_.add(
      at, fmt::format("{} reads '{}', but there is no such layer{}{}", fields.what(), name,
                      scope.where, near.empty() ? "; name a layer above it, or \"input\"" : near));
  return std::nullopt;
}

// The values that `inputs` names; `before` if the key is absent. Empty: there was a problem.
std::vector<ValueId> Builder::read_inputs(Fields& fields, const Scope& scope, ValueId before) {
  const auto names = fields.texts("inputs");
  if (!names) return {before};
  std::vector<ValueId> inputs;
  bool fine = true;
  for (const std::string& name : *names) {
    const auto value = look_up(name, fields, scope);
    fine = fine && value;
    if (!value) continue;
    if (std::count(inputs.begin(), inputs.end(), *value) > 0) {
      fine = false;
      problems_.add(fields.at("inputs"),
                    fmt::format("{} reads '{}' twice; name each input once", fields.what(), name));
    }
    inputs.push_back(*value);
  }
  return fine ? inputs : std::vector<ValueId>{};
}

void Builder::infer(Layer& layer, Position at, std::optional<Shape>& shape) {
  std::vector<Shape> shapes;
  std::vector<std::string> words;
  for (const ValueId input : layer.inputs) {
    const auto i = static_cast<std::size_t>(input.value);
    if (!shapes_[i]) return;  // the layer that makes it was reported
    shapes.push_back(*shapes_[i]);
    words.push_back(
        fmt::format("'{}' {}", i == 0 ? "input" : graph_.layers[i - 1].name, shapes_[i]->text()));
  }
  auto result = shape_rule(layer.spec, shapes);
  if (const auto* misfit = std::get_if<Misfit>(&result)) {
    problems_.add(at, fmt::format("{} '{}' cannot read {}: {}", kind_name(layer.spec), layer.name,
                                  fmt::join(words, " and "), misfit->why));
    return;
  }
  auto& facts = std::get<LayerFacts>(result);
  for (Parameter& parameter : facts.parameters) parameter.name = layer.name + "." + parameter.name;
  for (Buffer& buffer : facts.buffers) buffer.name = layer.name + "." + buffer.name;
  layer.output = facts.output;
  layer.parameters = std::move(facts.parameters);
  layer.buffers = std::move(facts.buffers);
  layer.flops = facts.flops;
  shape = layer.output;
}

// An earlier layer, by its name in the same list or by its full name.
std::optional<LayerId> Builder::find_owner(const std::string& named, const Fields& fields,
                                           const Scope& scope) {
  for (const std::string& name : {scope.prefix + named, named})
    for (std::size_t l = 0; l < graph_.layers.size(); ++l)
      if (graph_.layers[l].name == name) return LayerId{static_cast<int>(l)};
  std::vector<std::string_view> known;
  for (const Layer& layer : graph_.layers) known.push_back(layer.name);
  const std::string near = suggest(named, known);
  problems_.add(
      fields.at("tied"),
      fmt::format("{} is tied to '{}', but no layer above it has that name{}", fields.what(), named,
                  near.empty() ? "; name a linear or embedding layer above it" : near));
  return std::nullopt;
}

// Makes the weight of a linear or embedding layer that of an earlier one.
void Builder::tie(Layer& layer, const std::string& named, const Fields& fields,
                  const Scope& scope) {
  const auto owner = find_owner(named, fields, scope);
  if (!owner || !shapes_[owner->value + 1]) return;  // reported already
  const Layer& other = graph_.layers[owner->value];
  if (const std::string misfit = tie_misfit(layer, other); !misfit.empty()) {
    problems_.add(fields.at("tied"),
                  fmt::format("{} is tied to '{}', {}", fields.what(), other.name, misfit));
    return;
  }
  Parameter& weight = layer.parameters[0];
  weight.tied = other.parameters[0].tied.value_or(Tie{*owner, 0});
  weight.initial = other.parameters[0].initial;
}

ValueId Builder::append(Layer layer, std::optional<Shape> shape, Position at) {
  graph_.layers.push_back(std::move(layer));
  shapes_.push_back(std::move(shape));
  positions_.push_back(at);
  return ValueId{static_cast<int>(graph_.layers.size())};
}

// The row of a layer's kind; null if there is none, which is then reported.
const LayerKind* find_kind(const Value& table, const std::string& name, const Table& parameters,
                           Problems& problems) {
  Fields fields(table, title("layer", name), parameters, problems);
  const auto* entries = std::get_if<Table>(&table.data);
  if (!entries) return nullptr;  // reported where its other keys are taken
  std::vector<std::string_view> names;
  for (const LayerKind& kind : layer_kinds()) names.push_back(kind.name);
  const std::string written = fields.text("kind", "");
  for (const LayerKind& kind : layer_kinds())
    if (kind.name == written) return &kind;
  if (!find(*entries, "kind"))
    problems.add(fields.at(), fmt::format("{} has no kind; write kind = \"..\" with one of {}",
                                          fields.what(), fmt::join(names, ", ")));
  if (written.empty()) return nullptr;
  const std::string near = suggest(written, names);
  problems.add(
      fields.at("kind"),
      fmt::format("{}: there is no kind '{}'{}", fields.what(), written,
                  near.empty() ? fmt::format("; write one of {}", fmt::join(names, ", ")) : near));
  return nullptr;
}

ValueId Builder::add_layer(const Value& table, const std::string& name, const Scope& scope,
                           ValueId before) {
  const LayerKind* kind = find_kind(table, name, *scope.parameters, problems_);
  Fields fields(table, title(kind ? kind->name : "layer", name), *scope.parameters, problems_);
  take_name(fields, name, scope);
  Layer layer;
  layer.name = scope.prefix + name;
  layer.spec = Identity{};
  layer.inputs = read_inputs(fields, scope, before);
  bool fine = kind != nullptr;
  if (kind) {
    fields.text("kind");
    layer.spec = kind->read(fields);
    fine = fields.finish();
  }
  std::optional<Shape> shape;
  if (fine && !layer.inputs.empty()) infer(layer, table.at, shape);
  if (const auto owner = tied_of(layer.spec); shape && owner && !owner->empty())
    tie(layer, *owner, fields, scope);
  return append(std::move(layer), std::move(shape), table.at);
}

ValueId Builder::add_block(const Value& table, const std::string& name, Scope& scope,
                           ValueId before) {
  Fields fields(table, title("block use", name), *scope.parameters, problems_);
  take_name(fields, name, scope);
  std::vector<ValueId> inputs = read_inputs(fields, scope, before);
  if (inputs.size() > 1)
    problems_.add(fields.at("inputs"),
                  fmt::format("{} has {} inputs; a block takes one", fields.what(), inputs.size()));
  const auto use = read_block_use(fields, name, blocks_, *scope.parameters, problems_);
  used_blocks_.insert(use ? use->block : fields.text("block"));
  const auto unknown = [&] {
    return append({.name = name,
                   .spec = Identity{},
                   .inputs = {},
                   .output = {},
                   .parameters = {},
                   .buffers = {}},
                  std::nullopt, table.at);
  };
  if (!use || inputs.size() != 1) return unknown();
  if (std::count(open_blocks_.begin(), open_blocks_.end(), use->block) > 0) {
    problems_.add(fields.at("block"),
                  fmt::format("block '{}' contains itself; use another here", use->block));
    return unknown();
  }
  open_blocks_.push_back(use->block);
  ValueId value = inputs[0];
  for (const BlockCopy& copy : use->copies) {
    value = add_list(*use->layers, {.prefix = scope.prefix + copy.name + ".",
                                    .where = fmt::format(" in block '{}'", use->block),
                                    .input = value,
                                    .parameters = &copy.parameters,
                                    .names = {},
                                    .values = {}});
    scope.values[copy.name] = values_[scope.prefix + copy.name] = value;
  }
  open_blocks_.pop_back();
  return value;
}

ValueId Builder::add_list(const List& list, Scope scope) {
  for (const Value& table : list) scope.names.insert(name_of(table));
  ValueId before = scope.input;
  for (const Value& table : list) {
    const std::string name = name_of(table);
    if (std::ssize(graph_.layers) >= most_layers) {
      problems_.add(table.at, fmt::format("the model has more than {} layers; repeat its blocks "
                                          "less often",
                                          most_layers));
      return before;
    }
    before = has_block(table) ? add_block(table, name, scope, before)
                              : add_layer(table, name, scope, before);
    scope.values[name] = values_[scope.prefix + name] = before;
  }
  return before;
}

void Builder::add_sides(Position at, Scope& scope) {
  if (graph_.target_tokens == 0) return;
  const std::int64_t source = graph_.input.dims[0] - graph_.target_tokens;
  const auto add = [&](const std::string& name, std::int64_t start, std::int64_t length) {
    Layer layer{.name = name,
                .spec = Narrow{start, length},
                .inputs = {scope.input},
                .output = {},
                .parameters = {},
                .buffers = {}};
    std::optional<Shape> shape;
    infer(layer, at, shape);
    scope.names.insert(name);
    taken_.emplace(name, at);
    scope.values[name] = values_[name] = append(std::move(layer), std::move(shape), at);
  };
  add("source", 0, source);
  add("target", source, graph_.target_tokens);
}

void Builder::check_outputs_are_read() {
  Indexed<bool, ValueId> read(graph_.layers.size() + 1, false);
  for (const Layer& layer : graph_.layers)
    for (const ValueId input : layer.inputs) read[input] = true;
  for (std::size_t i = 0; i + 1 < graph_.layers.size(); ++i)
    if (!read[i + 1])
      problems_.add(positions_[i], fmt::format("no layer reads layer '{}'; name it in another "
                                               "layer's inputs, or leave it out",
                                               graph_.layers[i].name));
}

void Builder::check_blocks_are_used() {
  for (const Entry& block : blocks_)
    if (!used_blocks_.contains(block.key))
      problems_.add(block.at, fmt::format("no layer uses block '{}'; write block = \"{}\" in one, "
                                          "or leave it out",
                                          block.key, block.key));
}

}  // namespace

void build_layers(const List& list, const Table& blocks, Position input, Graph& graph,
                  Problems& problems) {
  for (const Entry& parameter : parameters_used(list))
    problems.add(parameter.at,
                 fmt::format("\"${}\" is for layers in a block; write a value", parameter.key));
  Builder builder(blocks, graph, problems);
  Scope model{.prefix = "",
              .where = "",
              .input = ValueId{0},
              .parameters = &kNoTable,
              .names = {},
              .values = {}};
  builder.add_sides(input, model);
  builder.add_list(list, std::move(model));
  // A layer that could not be read may be the missing reader, so only complete graphs are checked.
  if (!problems.any()) builder.check_outputs_are_read();
  builder.check_blocks_are_used();
}

}  // namespace pipetrain::model_file
