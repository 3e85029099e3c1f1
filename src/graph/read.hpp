// models/*.toml -> Graph. The keys are described in docs/adding-a-layer.md and `pipetrain layers`.
#pragma once

#include <filesystem>
#include <string>

namespace pipetrain {

struct Graph;

// Throws a UsageError with every problem: `file:line:column: what is wrong; what to write instead`.
Graph read_model(const std::filesystem::path& file);

// `origin` replaces the file in messages, and names the model if `name` is absent.
Graph read_model_text(const std::string& toml, const std::string& origin);

// The model whose layers are in the [model] table of a config; messages give their places there.
Graph read_inline_model(const std::filesystem::path& config);

}  // namespace pipetrain
