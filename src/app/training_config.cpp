#include "app/training_config.hpp"

#include "base/input_file.hpp"
#include "run/run_directory.hpp"
#include "run/session.hpp"

namespace pipetrain {

ReadConfig read_training_config(const Options& options) {
  ReadConfig read = read_config(options.configs, options.sets);
  if (options.overfit_one_batch) read.config = overfit_one_batch(read.config);
  return read;
}

ReadConfig with_kept_pieces(ReadConfig read, const std::filesystem::path& folder) {
  DataConfig& data = read.config.data;
  const std::filesystem::path kept = folder / pieces_file;
  if (data.kind == DataKind::ParallelText && data.pieces.empty() && is_there(kept))
    data.pieces = kept;
  return read;
}

}  // namespace pipetrain
