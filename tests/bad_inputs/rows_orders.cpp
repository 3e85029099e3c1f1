// Orders of a user's own: pipeline.schedule_csv.
#include "row.hpp"

namespace {

const char* const good =
    "worker,instruction\n0,0F0\n0,0F1\n0,0B0\n0,0B1\n1,1F0\n1,1F1\n1,1B0\n1,1B1\n";

Row order(const std::string& name, const std::string& csv, std::vector<std::string> words,
          const std::string& keys = "") {
  words.insert(words.begin(), {"bad.toml:2:16", "own.csv: "});
  return {name,
          {{"own.csv", csv},
           {"bad.toml",
            "[pipeline]\nschedule_csv = \"own.csv\"\nstages = 2\nmicrobatches = 2\n" + keys}},
          "train base.toml bad.toml --dry-run",
          2,
          std::move(words)};
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = good;
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

std::vector<Row> order_rows() {
  return {
      order("an order that is empty", "", {"no instruction", "0,0F0"}),
      order("an order without a first line", "0,0F0\n", {"line 1", "worker,instruction"}),
      order("an order with a word that is none", with("1F1", "1X1"), {"line 7", "`1X1`", "2F0"}),
      order("an order with a word that would move the cursor",
            with("1F1",
                 "\xC2\x9B"
                 "31m"),
            {"line 7", "`\\u009b31m`"}),
      order("an order with a worker that would move the cursor", with("1,1F1", "\x7f,1F1"),
            {"line 7", "`\\u007f` is not a worker"}),
      order("an order without a backward", with("0,0B1\n", ""), {"0B1 (backward) is missing"}),
      order("an order that goes backward first", with("0,0F0\n0,0F1\n0,0B0", "0,0B0\n0,0F0\n0,0F1"),
            {"line 2: 0B0 comes before 0F0"}),
      order("an order that receives what was not sent", with("0,0B0\n0,0B1", "0,0B1\n0,0B0"),
            {"line 4", "is sent micro-batch 0 instead"}),
      order("an order that waits forever",
            "worker,instruction\n0,0F0\n0,0B0\n0,0F1\n0,0B1\n1,1F0\n1,1F1\n1,1B0\n1,1B1\n",
            {"line 3: worker 0 waits forever", "nothing arrives; line 7: worker 1 waits forever"}),
      order("an order for another number of workers", with("1,1B1", "2,1B1"),
            {"line 9", "write stages = 3"}),
      order("an order with a slip in a number", with("0B1", "0B9"),
            {"line 5: 0B9", "never goes forward on any stage", "write 0B1"}),
      order("an order with a number too large", with("1B1", "1B1000000000"), {"line 9", "gap"}),
      order("an order in binary", std::string("worker,instruction\n\x00\xff\x01,\x02\n", 25),
            {"line 2", "not text"}),
      {"an order of several mini-batches that a validation would cut",
       {{"own.csv", good},
        {"bad.toml",
         "[pipeline]\nschedule_csv = \"own.csv\"\nstages = 2\n[training]\nsteps = 7\n"}},
       "train base.toml bad.toml --dry-run",
       2,
       {"bad.toml:2:16", "an order of 2 mini-batches", "training.steps", "6 or 8"}},
      {"an order of several mini-batches in epochs of an odd number",
       {{"own.csv", good},
        {"bad.toml",
         "[pipeline]\nschedule_csv = \"own.csv\"\nstages = 2\n[training]\nsteps = 6\n"
         "[data]\ntrain_samples = 24\n[validation]\nevery_epochs = 1\n"}},
       "train base.toml bad.toml --dry-run",
       2,
       {"bad.toml:2:16", "validation.every_epochs asks for 3 steps",
        "write validation.every_steps = 2 or 4 instead"}},
      {"an order that is not there",
       {{"bad.toml", "[pipeline]\nschedule_csv = \"none.csv\"\n"}},
       "train base.toml bad.toml",
       2,
       {"bad.toml:2:16", "none.csv: cannot be read", "name a csv file"}},
      {"an order that is a folder",
       {{"own.csv/", ""}, {"bad.toml", "[pipeline]\nschedule_csv = \"own.csv\"\n"}},
       "train base.toml bad.toml",
       2,
       {"bad.toml:2:16", "own.csv: cannot be read"}},
      {"an order and a schedule",
       {{"own.csv", good},
        {"bad.toml", "[pipeline]\nschedule_csv = \"own.csv\"\nschedule = \"1f1b\"\n"}},
       "train base.toml bad.toml",
       2,
       {"bad.toml:3:12", "both given", "write one of them"}},
      {"another order than the run began with",
       {{"own.csv", good},
        {"own.toml",
         "[pipeline]\nschedule_csv = \"own.csv\"\nstages = 2\nmicrobatches = 2\n[training]\nsteps "
         "= 2\n"
         "[checkpoint]\nevery_steps = 1\n"}},
       "train base.toml own.toml --output run --set training.steps=4",
       2,
       {"own.csv holds another order now", "program.txt", "--resume never"},
       false,
       "$PIPETRAIN_BINARY train base.toml own.toml --output run --quiet && "
       "printf "
       "'worker,instruction\\n0,0F0\\n0,0B0\\n0,0F1\\n0,0B1\\n1,1F0\\n1,1B0\\n1,1F1\\n1,1B1\\n' > "
       "own.csv; "},
  };
}
