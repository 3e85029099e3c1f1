// The kinds of data set that `open_datasets` knows, one .cpp each, and the checks that they share.
// All throw DataError for a file that cannot be read, and UsageError for one that does not fit the
// model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.hpp"
#include "data/text/windows.hpp"
#include "graph/shape.hpp"

namespace pipetrain {

struct Graph;

struct DataFiles {
  std::filesystem::path inputs, labels;
};
struct DrawOptions {
  std::int64_t samples = 0;
  std::uint64_t seed = 1;
  std::string_view part;  // "train" | "validation": streams that never coincide
};
struct CifarKind {  // how a record begins, and which of its bytes is the class
  std::string_view name, labels_name;
  std::size_t label_bytes, label;
  int classes;
};
// For "cifar10", or for "cifar100" with its "fine" or "coarse" labels.
const CifarKind& cifar_kind(DataKind kind, CifarLabels labels);

std::unique_ptr<const Dataset> open_idx(const DataFiles& files, const Graph& graph);
std::unique_ptr<const Dataset> open_npy(const DataFiles& files, const Graph& graph);
std::unique_ptr<const Dataset> open_cifar(std::span<const std::filesystem::path> files,
                                          const CifarKind& kind, const Graph& graph);
// Opens both parts, each of which is read in its own way.
Datasets open_image_folder(const DataConfig& config, const Graph& graph, std::uint64_t seed);
Datasets open_parallel_text(const DataConfig& config, const Graph& graph, std::uint64_t seed);
// UsageError if the model does not read and predict these pieces, or attends to their padding.
void require_pieces(const Graph& graph, const Pieces& pieces, const std::string& source);
std::unique_ptr<const Dataset> draw_glyphs(const DrawOptions& options, const Graph& graph);
std::unique_ptr<const Dataset> draw_synthetic(const DrawOptions& options, const Graph& graph);
Sequences read_text(const DataConfig& config, const Graph& graph);
Sequences read_tokens(const DataConfig& config, const Graph& graph);
// The vocabulary of kind = "text"; needs no model. DataError.
Vocabulary text_vocabulary(const DataConfig& config);

// Samples first .. last - 1 of another data set, numbered from 0.
std::unique_ptr<const Dataset> slice(std::shared_ptr<const Dataset> whole, SampleRange range);

// For a validation_range of the training files: which of its samples are trained on too; empty:
// none.
std::vector<std::string> overlap_notes(const DataConfig& config, std::int64_t samples);

// The number of classes that the model predicts; 0 under mse.
int model_classes(const Graph& graph);
// Per sample: 1, or the positions of a sequence.
std::int64_t model_labels(const Graph& graph);
// What the loss compares with the targets.
const Shape& model_output(const Graph& graph);
// Throws UsageError that names both shapes; `source` is a file or a kind.
[[noreturn]] void refuse_input_shape(std::string_view source, const Shape& found,
                                     const Graph& graph);
// UsageError if labels are classes but the model is trained by mse.
void require_class_loss(std::string_view source, const Graph& graph);
// UsageError if the model predicts a class for each position, but a sample has one label.
void require_one_label(std::string_view source, const Graph& graph);
// DataError, with file, sample and label, if the label is not in 0..classes-1.
void check_label(const std::filesystem::path& file, std::int64_t sample, std::int64_t label,
                 int classes);
// DataError if a file has no samples, or the two files have different numbers of them.
void check_counts(const DataFiles& files, std::int64_t inputs, std::int64_t labels);

}  // namespace pipetrain
