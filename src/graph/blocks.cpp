#include "graph/blocks.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/suggest.hpp"

namespace pipetrain::model_file {
namespace {

std::vector<std::string_view> keys(const Table& table) {
  std::vector<std::string_view> out;
  for (const Entry& entry : table) out.push_back(entry.key);
  return out;
}

void collect(const Value& value, std::vector<Entry>& out) {
  if (const auto* text = std::get_if<std::string>(&value.data); text && text->starts_with('$'))
    out.push_back({text->substr(1), value.at, value});
  if (const auto* list = std::get_if<List>(&value.data))
    for (const Value& element : *list) collect(element, out);
  if (const auto* table = std::get_if<Table>(&value.data))
    for (const Entry& entry : *table) collect(entry.value, out);
}

struct Body {
  const List* layers = nullptr;
  const Table* defaults = nullptr;
};

Body read_body(const Entry& block, Problems& problems) {
  Fields fields(block.value, fmt::format("block '{}'", block.key), kNoTable, problems);
  Body body{fields.list("layers"), fields.table("defaults")};
  if (!fields.finish()) return {};
  if (body.layers && !body.layers->empty()) return body;
  problems.add(block.at, fmt::format("block '{}' has no layers; write layers = [..]", block.key));
  return {};
}

// Adds `more`, replacing what is present; a "$name" in it is a parameter of the enclosing block.
void override_with(Table& parameters, const Table* more, const Table& outer) {
  if (!more) return;
  for (Entry entry : *more) {
    const auto* text = std::get_if<std::string>(&entry.value.data);
    if (text && text->starts_with('$')) {
      const Entry* found = find(outer, std::string_view(*text).substr(1));
      if (!found) continue;  // reported where the enclosing block is used
      entry.value = Value(found->value);
    }
    std::erase_if(parameters, [&](const Entry& other) { return other.key == entry.key; });
    parameters.push_back(std::move(entry));
  }
}

bool check_given(const Fields& fields, const std::string& block, const Table* given,
                 const std::vector<Entry>& used, Problems& problems) {
  bool fine = true;
  for (const Entry& entry : given ? *given : kNoTable) {
    const std::vector<std::string_view> names = keys(used);
    if (std::find(names.begin(), names.end(), entry.key) != names.end()) continue;
    fine = false;
    const std::string near = suggest(entry.key, names);
    problems.add(entry.at, fmt::format("{}: block '{}' has no parameter '{}'{}", fields.what(),
                                       block, entry.key, near.empty() ? "; leave it out" : near));
  }
  return fine;
}

bool check_complete(const Fields& fields, const std::string& block, const Table& parameters,
                    const std::vector<Entry>& used, Problems& problems) {
  std::vector<std::string> missing;
  for (const Entry& entry : used)
    if (!find(parameters, entry.key) &&
        std::find(missing.begin(), missing.end(), entry.key) == missing.end())
      missing.push_back(entry.key);
  if (missing.empty()) return true;
  problems.add(fields.at(),
               fmt::format("{}: block '{}' needs {}; write with = {{ {} = .. }}", fields.what(),
                           block, fmt::join(missing, " and "), fmt::join(missing, " = .., ")));
  return false;
}

const Entry* find_block(const Fields& fields, const std::string& block, const Table& blocks,
                        Problems& problems) {
  const Entry* found = find(blocks, block);
  if (found || block.empty()) return found;
  const std::string near = suggest(block, keys(blocks));
  problems.add(fields.at("block"),
               fmt::format("{}: there is no block '{}'{}", fields.what(), block,
                           near.empty() ? fmt::format("; define it as [blocks.{}]", block) : near));
  return nullptr;
}

}  // namespace

std::vector<Entry> parameters_used(const List& layers) {
  std::vector<Entry> used;
  for (const Value& layer : layers) collect(layer, used);
  return used;
}

std::optional<BlockUse> read_block_use(Fields& fields, const std::string& name, const Table& blocks,
                                       const Table& outer, Problems& problems) {
  constexpr std::int64_t kOnce = 0;
  BlockUse use{fields.text("block"), nullptr, {}};
  const std::int64_t repeat = fields.size("repeat", kOnce);
  const std::int64_t first_index = fields.size("first_index", 0, 0);
  if (repeat > most_layers)
    problems.add(fields.at("repeat"),
                 fmt::format("{}: repeat = {} makes more than {} layers, which is the limit; "
                             "write a smaller number",
                             fields.what(), repeat, most_layers));
  const Table* with = fields.table("with");
  const Table* first = fields.table("first");
  const bool fine = fields.finish() && repeat <= most_layers;
  const Entry* block = find_block(fields, use.block, blocks, problems);
  if (!block) return std::nullopt;
  const Body body = read_body(*block, problems);
  if (!body.layers || !fine) return std::nullopt;
  use.layers = body.layers;

  const std::vector<Entry> used = parameters_used(*body.layers);
  Table common;
  override_with(common, body.defaults, kNoTable);
  override_with(common, with, outer);
  Table of_first = common;
  override_with(of_first, first, outer);
  bool given = true;  // every table is checked, whatever is missing in the ones before it
  for (const Table* table : {body.defaults, with, first})
    given &= check_given(fields, use.block, table, used, problems);
  if (!given || !check_complete(fields, use.block, repeat > 1 ? common : of_first, used, problems))
    return std::nullopt;

  if (repeat == kOnce) use.copies.push_back({name, of_first});
  for (std::int64_t i = 0; i < repeat; ++i)
    use.copies.push_back({fmt::format("{}.{}", name, first_index + i), i == 0 ? of_first : common});
  return use;
}

}  // namespace pipetrain::model_file
