// The table of bad inputs: what is written, what is run, and how it must be refused. To add a case:
// a row in one of the rows_*.cpp.
#pragma once

#include <string>
#include <vector>

struct InputFile {
  std::string name, bytes;  // a name that ends in "/" is a folder
};

struct Row {
  std::string name;                // what is wrong; no two rows share it
  std::vector<InputFile> files;    // on top of base_files(), or instead of some of them
  std::string command;             // the binary's arguments, run in the folder of the files
  int code = 2;                    // docs/errors.md
  std::vector<std::string> words;  // all of them are in what it prints on standard error
  bool little_memory = false;      // under a limit of virtual memory: a header claims too much
  std::string prepare = {};        // shell commands before it; $PIPETRAIN_BINARY is the binary
  bool ordinary_user = false;      // run as a user whom permissions and limits bind, unlike root
  int most_threads = 0;            // of that user; 0: no limit
  bool new_refuses = false;        // operator new must fail, for which a sanitizer ends the process
};

// Good inputs that a row spoils: base.toml trains on glyphs, tiny.toml on images.idx and labels.idx
// (6 of 2x2, 3 classes), array.toml on x.npy and y.npy (6 of 4), c10.toml and c100.toml on
// batch.bin and train.bin, folder.toml on pictures/a and pictures/b (4 of 3x8x8), weights.toml
// begins with good.safetensors, text.toml on a.txt and tokens.toml on a.bin (10 tokens; the model
// knows 4 and reads 3), pairs.toml on a.de and a.en (3 pairs, for 22 pieces).
std::vector<InputFile> base_files();

std::vector<Row> command_rows();
std::vector<Row> config_rows();
std::vector<Row> model_rows();
std::vector<Row> plan_rows();
std::vector<Row> profile_rows();
std::vector<Row> order_rows();
std::vector<Row> image_rows();
std::vector<Row> image_folder_rows();
std::vector<Row> array_rows();
std::vector<Row> text_rows();
std::vector<Row> translation_rows();
std::vector<Row> generate_rows();
std::vector<Row> weight_rows();
std::vector<Row> checkpoint_rows();
std::vector<Row> permission_rows();
std::vector<Row> report_rows();
