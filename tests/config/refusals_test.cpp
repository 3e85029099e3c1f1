// Everything that a config can get wrong, and the words that help.
#include <sstream>

#include "catch.hpp"
#include "read_support.hpp"

using namespace pipetrain;

namespace {

struct Bad {
  std::string toml;   // after the model, which is lines 1 and 2
  std::string place;  // "3:1"
  std::vector<std::string> words;
};

const std::vector<Bad>& table() {
  static const std::vector<Bad> rows = {
      // ---- devices
      {"[hardware]\nbackend = \"cudo\"",
       "4:11",
       {"hardware.backend = \"cudo\" is not known", "one of: cpu, cuda, reference", "'cuda'?"}},
      {"[hardware]\nbackend = \"cuda\"\ndevices = []",
       "5:11",
       {"hardware.devices = [] names no device", "write [\"cuda:0\"], or leave it out"}},
      {"[hardware]\nbackend = \"cuda\"\ndevices = \"cuda:0\"",
       "5:11",
       {"hardware.devices is a string (\"cuda:0\")", "in an array, [\"cuda:0\"]"}},
      {"[hardware]\nbackend = \"cuda\"\ndevices = [0]",
       "5:12",
       {"hardware.devices is a whole number (0)", "in an array, [\"cuda:0\"]"}},
      {"[hardware]\nbackend = \"cuda\"\ndevices = [\"cuda:0\", \"gpu:1\"]",
       "5:22",
       {"hardware.devices names \"gpu:1\", which is no device", "write \"cuda:0\""}},
      {"[hardware]\ndevices = [\"cuda\"]", "4:12", {"names \"cuda\", which is no device"}},
      {"[hardware]\ndevices = [\"cuda:\"]", "4:12", {"names \"cuda:\", which is no device"}},
      {"[hardware]\ndevices = [\"cuda:-1\"]", "4:12", {"names \"cuda:-1\", which is no device"}},
      {"[hardware]\ndevices = [\"cuda:01\"]", "4:12", {"names \"cuda:01\", which is no device"}},
      {"[hardware]\ndevices = [\"cuda:4294967296\"]", "4:12", {"which is no device"}},
      {"[hardware]\ndevices = [\"CUDA:0\"]", "4:12", {"which is no device"}},
      {"[hardware]\nbackend = \"cuda\"\ndevices = [\"cuda:0\", \"cuda:1\"]",
       "5:11",
       {"names 2 devices, but pipeline.stages = 1 makes 1 worker;", "at most 1", "stages = 2"}},
      // ---- keys and tables that are not there
      {"[pipelin]\nstages = 2", "3:2", {"unknown table pipelin", "did you mean pipeline?"}},
      {"[pipeline]\nstags = 2",
       "4:1",
       {"unknown key pipeline.stags", "did you mean pipeline.stages?"}},
      {"[pipeline]\n  micro_batches = 2", "4:3", {"did you mean pipeline.microbatches?"}},
      {"[pipeline]\nlr = 2", "4:1", {"unknown key pipeline.lr", "did you mean optimizer.lr?"}},
      {"[pipeline.pipemair]\ndecay = 0",
       "3:11",
       {"unknown table pipeline.pipemair", "did you mean pipeline.pipemare?"}},
      {"[optimizer]\nlearning_rate = 2",
       "4:1",
       {"unknown key optimizer.learning_rate", "pipetrain train --help-keys lists the keys"}},
      {"[zzz]", "3:2", {"unknown table zzz"}},
      {"[trainig]\nepochs = 1", "3:2", {"did you mean training?"}},
      {"[data]\nbatchsize = 1", "4:1", {"did you mean data.batch_size?"}},
      {"[data]\nbatch_szie = 1", "4:1", {"did you mean data.batch_size?"}},
      {"[[layers]]\nname = \"x\"", "3:3", {"unknown key layers", "did you mean model.layers?"}},
      {"[pipeline]\nsplit.rule = \"auto\"", "4:1", {"pipeline.split is a table"}},
      // ---- steps to trace
      {"[metrics]\ntrace_steps = [12, 10]",
       "4:15",
       {"metrics.trace_steps = [12, 10]", "first <= last"}},
      {"[metrics]\ntrace_steps = [1, 1001]", "4:15", {"1 to 1000 steps"}},
      {"[metrics]\ntrace_steps = [0, 2]", "4:16", {"metrics.trace_steps", "from 1"}},
      {"[metrics]\ntrace_steps = [3]", "4:15", {"metrics.trace_steps is an array ([3])"}},
      {"[metrics]\ntrace_steps = 3", "4:15", {"metrics.trace_steps is a whole number (3)"}},
      {"[metrics]\ntensorboard = 1", "4:15", {"true or false"}},
      // ---- tables that are none
      {"[[pipeline]]\nstages = 2", "3:1", {"pipeline is an array", "[pipeline]"}},
      {"[pipeline]\npipemare = 3", "4:12", {"pipeline.pipemare is a value", "[pipeline.pipemare]"}},
      // ---- types
      {"[pipeline]\nstages = \"four\"",
       "4:10",
       {"pipeline.stages is a string (\"four\")", "a whole number from 1 to 1024"}},
      {"[pipeline]\nstages = 2.0", "4:10", {"is a number (2.0)", "a whole number"}},
      {"[pipeline]\nstages = true", "4:10", {"is true or false (true)", "a whole number"}},
      {"[pipeline]\nstages = [2]", "4:10", {"is an array ([2])"}},
      {"[pipeline]\nstages = {}", "4:10", {"is a table"}},
      {"[pipeline]\nstages = 1979-05-27", "4:10", {"is a date"}},
      {"[data]\nshuffle = 1",
       "4:11",
       {"data.shuffle is a whole number (1)", "write true or false"}},
      {"[data]\nshuffle = \"true\"", "4:11", {"is a string (\"true\")", "write true or false"}},
      {"[data]\nkind = 3",
       "4:8",
       {"data.kind is a whole number (3)",
        "one of: idx, cifar10, cifar100, npy, image_folder, text, tokens, parallel_text, glyphs, "
        "synthetic"}},
      {"[data]\nkind = \"idx\"\ntrain_images = 3\ntrain_labels = \"l\"",
       "5:16",
       {"data.train_images", "a path in quotes"}},
      {"[optimizer]\nlr = \"0.1\"",
       "4:6",
       {"optimizer.lr is a string (\"0.1\")", "a number at least 0"}},
      {"[hardware]\nmemory_limit = true", "4:16", {"number of bytes", "\"8GiB\""}},
      {"[pipeline]\nsplit = [1, 2]\nstages = 3",
       "4:10",
       {"pipeline.split is a whole number (1)", "names of the first layers"}},
      {"[pipeline]\nstages = 2\nsplit = []", "5:9", {"names 0 layers", "makes 1 cuts"}},
      // ---- ranges
      {"[pipeline]\nstages = 0", "4:10", {"pipeline.stages = 0 is out of range", "from 1 to 1024"}},
      {"[pipeline]\nstages = -3", "4:10", {"pipeline.stages = -3 is out of range"}},
      {"[pipeline]\nmicrobatches = 0", "4:16", {"from 1 to 65536"}},
      {"[pipeline]\nstages = 4294967297", "4:10", {"pipeline.stages = 4294967297 is out of range"}},
      {"[pipeline]\nstages = 99999999999999999999", "4:", {"64 bits"}},
      {"[data]\nbatch_size = 0", "4:14", {"data.batch_size = 0 is out of range"}},
      {"[optimizer]\nlr = -0.1", "4:6", {"optimizer.lr = -0.1 is out of range", "at least 0"}},
      {"[optimizer]\nlr = nan", "4:6", {"optimizer.lr = nan is not finite"}},
      {"[optimizer]\nlr = inf", "4:6", {"optimizer.lr = inf is not finite"}},
      {"[optimizer]\nmomentum = 1",
       "4:12",
       {"optimizer.momentum = 1 is out of range", "from 0 to below 1"}},
      {"[optimizer]\nkind = \"adam\"\nbeta2 = 1.5", "5:9", {"from 0 to below 1"}},
      {"[optimizer]\nkind = \"adam\"\neps = 0",
       "5:7",
       {"optimizer.eps = 0 is out of range", "above 0"}},
      {"[training]\nseed = -1", "4:8", {"training.seed = -1 is out of range", "at least 0"}},
      {"[training]\nepochs = 0", "4:10", {"training.epochs = 0 is out of range", "from 1"}},
      {"[training]\nsteps = 3000000000", "4:9", {"from 1 to 2147483647"}},
      {"[metrics]\nlog_every_steps = 0", "4:19", {"metrics.log_every_steps = 0 is out of range"}},
      {"[hardware]\nthreads_per_stage = -1", "4:21", {"from 0 to 1024"}},
      {"[hardware]\nmemory_limit = -1", "4:16", {"hardware.memory_limit = -1 is out of range"}},
      {"[hardware]\nmemory_limit = \"8 gigs\"", "4:16", {"is not a size", "\"8GiB\""}},
      {"[hardware]\nmemory_limit = \"GiB\"", "4:16", {"is not a size"}},
      {"[hardware]\nmemory_limit = \"1.2.3GiB\"", "4:16", {"is not a size"}},
      {"[hardware]\nmemory_limit = \"99999999999TiB\"", "4:16", {"is not a size"}},
      {"[data]\nkind = \"npy\"\ntrain_inputs = \"a\"\ntrain_labels = \"b\"\ntrain_range = [5, 5]",
       "7:15",
       {"holds no samples", "first < last"}},
      {"[data]\ntrain_range = [8000, 0]",
       "4:15",
       {"data.train_range = [8000, 0] holds no samples"}},
      {"[data]\ntrain_range = [-1, 10]", "4:15", {"holds no samples"}},
      {"[data]\ntrain_range = [1]", "4:15", {"two whole numbers"}},
      {"[lr_schedule]\nkind = \"step\"\nmilestones = [20, 10]",
       "5:14",
       {"[20, 10] is not ascending"}},
      {"[lr_schedule]\nkind = \"step\"\nmilestones = [10, 10]", "5:14", {"is not ascending"}},
      {"[lr_schedule]\nkind = \"step\"\nmilestones = [0]",
       "5:15",
       {"lr_schedule.milestones = 0 is out of range"}},
      {"[data]\nkind = \"cifar10\"", "4:8", {"data.train_files is missing", "cifar10"}},
      {"[data]\nkind = \"cifar10\"\ntrain_files = [1]",
       "5:16",
       {"data.train_files is a whole number (1)", "a path in quotes, or several"}},
      {"[data]\nkind = \"cifar10\"\ntrain_files = [\"a\", \"\"]", "5:21", {"names a file \"\""}},
      {"[data]\nkind = \"cifar100\"\ntrain_files = \"a\"\nlabels = \"rough\"",
       "6:10",
       {"data.labels = \"rough\" is not known", "one of: fine, coarse"}},
      {"[data]\nkind = \"cifar10\"\ntrain_files = \"a\"\nvalidation_fraction = 1.0",
       "6:23",
       {"data.validation_fraction = 1.0 is out of range", "from 0 to below 1"}},
      {"[data]\nkind = \"cifar10\"\ntrain_files = \"a\"\nvalidation_fraction = 0.1\n"
       "validation_range = [0, 10]",
       "6:23",
       {"data.validation_fraction is given, and data.validation_range too", "remove one"}},
      {"[data]\nkind = \"cifar10\"\ntrain_files = \"a\"\nvalidation_fraction = 0.1\n"
       "validation_files = \"b\"",
       "6:23",
       {"data.validation_fraction is given, and data.validation_files too"}},
      {"[data]\nkind = \"cifar10\"\ntrain_files = \"a\"\n[validation]\nevery_epochs = 1",
       "7:16",
       {"no validation samples", "data.validation_fraction = 0.1"}},
      {"[data]\nkind = \"text\"", "4:8", {"data.train_text is missing", "text"}},
      {"[data]\nkind = \"text\"\ntrain_text = \"a\"\ntokenizer = \"words\"",
       "6:13",
       {"data.tokenizer = \"words\" is not known", "one of: characters, bytes"}},
      {"[data]\nkind = \"text\"\ntrain_text = \"a\"\nstride = 0", "6:10", {"out of range"}},
      {"[data]\nkind = \"text\"\ntrain_text = \"a\"\nvalidation_fraction = 0.1\n"
       "validation_text = \"b\"",
       "6:23",
       {"data.validation_fraction is given, and data.validation_text too"}},
      {"[data]\nkind = \"tokens\"", "4:8", {"data.train_tokens is missing", "tokens"}},
      {"[optimizer]\ndecay = \"weights\"", "4:9", {"one of: all, matrices"}},
      // ---- words
      {"[pipeline]\nschedule = \"1f1bb\"",
       "4:12",
       {"pipeline.schedule = \"1f1bb\" is not known", "one of: gpipe, 1f1b",
        "did you mean '1f1b'?"}},
      {"[pipeline]\nschedule = \"Gpipe\"", "4:12", {"did you mean 'gpipe'?"}},
      {"[pipeline]\nsplit = \"even\"", "4:9", {"one of: auto, uniform, parameters"}},
      {"[optimizer]\nkind = \"adma\"", "4:8", {"one of: sgd, adam, adamw", "did you mean 'adam'?"}},
      {"[hardware]\nworkers = \"thread\"", "4:11", {"did you mean 'threads'?"}},
      {"[training]\non_nonfinite = \"ignore\"", "4:16", {"one of: stop, skip"}},
      // ---- known, not built yet
      {"[pipeline]\nschedule_csv = \"a.csv\"",
       "4:16",
       {"a.csv: cannot be read", "name a csv file"}},
      {"[pipeline]\nschedule_csv = \"a.csv\"\nschedule = \"1f1b\"",
       "5:12",
       {"pipeline.schedule and pipeline.schedule_csv are both given", "one of them"}},
      {"[pipeline]\nreplicas = 2",
       "4:12",
       {"pipeline.replicas: 2 replicas share the micro-batches", "write microbatches = 2"}},
      {"[pipeline]\nshared_layers = [\"fc1\"]",
       "4:17",
       {"pipeline.shared_layers = [\"fc1\"] is not built yet", "shared_layers = []"}},
      {"[pipeline]\nreplicas = [3, 1]", "4:12", {"pipeline.replicas: ", "has 2 numbers"}},
      {"[pipeline]\nreplicas = []", "4:12", {"pipeline.replicas = [] has no number"}},
      {"[pipeline]\nschedule = \"zb_v\"\nstages = 2\nmicrobatches = 4\nreplicas = 2",
       "7:12",
       {"zb_v runs without replicas", "gpipe, 1f1b"}},
      {"[pipeline]\nreplicas = [0]", "4:13", {"pipeline.replicas = 0 is out of range"}},
      {"[pipeline]\nrecompute = \"all\"", "4:13", {"one of: none, stage"}},
      {"[training]\nprecision = \"bf16\"\n[hardware]\nbackend = \"reference\"",
       "4:13",
       {"training.precision = \"bf16\" is not built yet", "backend = \"reference\"",
        "backend = \"cpu\""}},
      {"[training]\nprecision = \"fp16\"", "4:13", {"one of: f32, bf16"}},
      {"[hardware]\nworkers = \"gloo\"", "4:11", {"\"gloo\" is not known", "threads, inline, mpi"}},
      {"[data]\nkind = \"image_folder\"",
       "4:8",
       {"data.train_folder is missing", "write train_folder = \"FILE\""}},
      {"[data]\nkind = \"image_folder\"\ntrain_folder = \"x\"\npadding = 4\nrandom_resized_crop = "
       "true",
       "6:11",
       {"data.padding is given, and data.random_resized_crop too"}},
      {"[data]\nkind = \"cifar10\"\ntrain_files = \"x\"\nstd = [0.2, 0]",
       "6:13",
       {"data.std = 0 is out of range", "one per channel in an array, each above 0"}},
      {"[data]\nkind = \"cifar10\"\ntrain_files = \"x\"\nmean = [0.2, true]",
       "6:14",
       {"data.mean is true or false (true)", "one per channel"}},
      {"[data]\nkind = \"image_folder\"\ntrain_folder = \"x\"\nresize = [1, 2, 3]",
       "6:10",
       {"data.resize is an array ([1, 2, 3])", "[height, width]"}},
      {"[data]\nkind = \"image_folder\"\ntrain_folder = \"x\"\ncrop = [224, 0]",
       "6:14",
       {"data.crop = 0 is out of range", "from 1 to 65536"}},
      {"[checkpoint]\nkeep_latest = 0",
       "4:15",
       {"checkpoint.keep_latest = 0 is out of range", "from 1"}},
      {"[checkpoint]\nevery_minutes = -1", "4:17", {"checkpoint.every_minutes = -1"}},
      {"[validation]\nearly_stopping = -1", "4:18", {"validation.early_stopping = -1"}},
      {"[validation]\nmetric = \"accuracy\"", "4:10", {"validation.metric", "loss", "bleu"}},
      // ---- keys together
      {"[validation]\nmetric = \"bleu\"",
       "4:10",
       {"validation.metric = \"bleu\" compares translations", "data.kind = \"glyphs\"",
        "metric = \"loss\""}},
      {"[data]\nbatch_size = 10\n[pipeline]\nmicrobatches = 4",
       "6:16",
       {"data.batch_size = 10 does not divide", "batch_size = 8 or 12", "microbatches = 2 or 5"}},
      {"[data]\nbatch_size = 7\n[pipeline]\nmicrobatches = 2",
       "6:16",
       {"batch_size = 6 or 8", "microbatches = 1 or 7"}},
      {"[data]\nbatch_size = 4\n[pipeline]\nmicrobatches = 8",
       "6:16",
       {"is more than data.batch_size = 4", "microbatches = 4 or less"}},
      {"[training]\nepochs = 1\nsteps = 10",
       "5:9",
       {"training.epochs and training.steps are both given"}},
      {"[validation]\nevery_epochs = 1\nevery_steps = 10", "5:15", {"are both given"}},
      {"[pipeline]\nstages = 3\nsplit = [\"fc1\"]",
       "5:9",
       {"names 1 layers, but pipeline.stages = 3 makes 2 cuts", "stages = 2"}},
      {"[pipeline]\nstages = 3\nsplit = [\"fc1\", \"fc1\"]", "5:17", {"names \"fc1\" twice"}},
      {"[data]\nkind = \"idx\"",
       "4:8",
       {"data.train_images is missing", "data.train_labels is missing"}},
      {"[data]\nkind = \"npy\"", "4:8", {"data.train_inputs is missing"}},
      {"[data]\nkind = \"idx\"\ntrain_images = \"a\"\ntrain_labels = \"b\"\nvalidation_images = "
       "\"c\"",
       "4:8",
       {"data.validation_labels is missing", "pairs"}},
      {"[data]\nkind = \"idx\"\ntrain_images = \"a\"\ntrain_labels = "
       "\"b\"\n[validation]\nevery_epochs = 1",
       "8:16",
       {"no validation samples", "validation_range"}},
      {"[data]\nvalidation_samples = 0\n[validation]\nevery_steps = 5",
       "6:15",
       {"no validation samples", "validation_samples"}},
      {"[optimizer]\nnesterov = true", "4:12", {"without momentum", "momentum = 0.9"}},
      {"[optimizer]\nlr_names = [\"fc.*\", \"conv1.*\"]\nlr_factors = [2.0]",
       "5:14",
       {"lr_names has 2 names, lr_factors 1", "a factor for each name"}},
      {"[optimizer]\nlr_names = \"fc.*\"",
       "4:12",
       {"optimizer.lr_names is a string", "names of parameters in an array, [\"fc.*\"]"}},
      {"[optimizer]\nlr_names = [\"fc.*\"]\nlr_factors = [-1.0]",
       "5:15",
       {"optimizer.lr_factors", "at least 0"}},
      {"init_ignore = [\"fc.*\"]",
       "3:15",
       {"model.init_ignore without an init", "write init = \"weights.safetensors\""}},
      {"trainable = [1]", "3:14", {"trainable is a whole number (1)", "names of parameters"}},
      {"[lr_schedule]\nkind = \"step\"", "4:8", {"no milestones"}},
      {"[lr_schedule]\nkind = \"inverse_sqrt\"", "4:8", {"warmup_steps = 1"}},
      {"[lr_schedule]\nkind = \"cosine\"\nmin_lr = 0.5",
       "5:10",
       {"lr_schedule.min_lr = 0.5 is above optimizer.lr = 0.01"}},
      {"[[model.layers]]\nname = \"a\"\nkind = \"relu\"",
       "3:",
       {"model.layers is given, and model.file too"}},
      // ---- no TOML
      {"[data\nkind = 1", "3:6", {"write valid TOML here"}},
      {"[data]\nkind = ", "4:8", {"write valid TOML here"}},
      {"[data]\nkind = \"idx\"\nkind = \"npy\"", "5:", {"kind"}},
      {"[data]\nkind = gpipe", "4:", {"write valid TOML here"}},
  };
  return rows;
}

int lines_of(const std::string& text) {
  std::istringstream stream(text);
  int lines = 0;
  for (std::string line; std::getline(stream, line);) ++lines;
  return lines;
}

}  // namespace

TEST_CASE("each wrong config is refused at its place, with words that help") {
  REQUIRE(table().size() >= 60);
  for (const Bad& bad : table()) {
    const std::string message = refusal(kModel + bad.toml + "\n");
    INFO(bad.toml << "\n-> " << message);
    CHECK(message.find("run.toml:" + bad.place) == 0);
    for (const std::string& word : bad.words) {
      INFO("expected: " << word);
      CHECK(message.find(word) != std::string::npos);
    }
    CHECK(message.find("; ") != std::string::npos);
  }
}

TEST_CASE("every problem is found in one run, in the order of the file") {
  const std::string message = refusal(
      "[pipeline]\nstags = 2\nmicrobatches = 0\nschedule = \"1fb1\"\n[data]\nkind = \"idx\"\n"
      "[optimizer]\nlr = \"x\"\n");
  INFO(message);
  CHECK(lines_of(message) == 7);  // also: no model, no train_images, no train_labels
  CHECK(message.find("run.toml:1:1: no model is named") == 0);
  CHECK(message.find("run.toml:2:1") < message.find("run.toml:3:16"));
  CHECK(message.find("run.toml:3:16") < message.find("run.toml:4:12"));
  CHECK(message.find("run.toml:8:6") != std::string::npos);
}

TEST_CASE("a key with a problem of its own gets no second one from the rules") {
  CHECK(lines_of(refusal(kModel + "[pipeline]\nmicrobatches = 0\n[data]\nbatch_size = 7\n")) == 1);
  CHECK(lines_of(refusal(kModel + "[data]\nkind = \"idxx\"\n[validation]\nevery_steps = 1\n")) ==
        1);
}

TEST_CASE("a misspelt key is one problem: what its absence alone would cause is not reported too") {
  const std::vector<std::pair<std::string, std::string>> alone = {
      {"[model]\nfiel = \"m.toml\"\n", "2:1: unknown key model.fiel"},
      {"[modle]\nfile = \"m.toml\"\n", "1:2: unknown table modle"},
      {"[[model.layer]]\nname = \"a\"\n", "1:9: unknown key model.layer"},
      {"[[layers]]\nname = \"a\"\n", "1:3: unknown key layers"},
      {kModel + "[data]\nbatch_size = 30\n[pipeline]\nmicrobatches = 4\nmicrobatchs = 3\n", ""},
      {kModel + "[data]\nbatch_sise = 30\n[pipeline]\nmicrobatches = 3\n", "4:1: unknown key"},
      {kModel + "[data]\nknd = \"parallel_text\"\nbatch_size = 30\n[pipeline]\nmicrobatches = 4\n",
       "4:1: unknown key data.knd"},
      {kModel + "[data]\nkind = \"idx\"\ntrain_imags = \"a\"\ntrain_labels = \"b\"\n",
       "5:1: unknown key data.train_imags"},
      {kModel + "[pipeline]\nstags = 3\nsplit = [\"a\", \"b\"]\n",
       "4:1: unknown key pipeline.stags"},
      {kModel + "[lr_schedule]\nkind = \"step\"\nmilestone = [3]\n", "5:1: unknown key"},
      {kModel + "[optimizer]\nnesterov = true\nmomentun = 0.9\n", "5:1: unknown key"},
  };
  for (const auto& [toml, start] : alone) {
    const std::string message = refusal(toml);
    INFO(toml << "\n-> " << message);
    CHECK(lines_of(message) == (start.empty() ? 2 : 1));  // both keys are there: both are wrong
    CHECK(message.find("run.toml:" + start) == 0);
  }
  // A --set that is misspelt was to win over the file; one that is right wins.
  const std::string text = kModel + "[data]\nbatch_size = 32\n[pipeline]\nmicrobatches = 5\n";
  CHECK(lines_of(refusal(text, {"pipeline.microbatchs=4"})) == 1);
  CHECK(lines_of(refusal(kModel + "[data]\nbatch_sise = 8\n",
                         {"data.batch_size=9", "pipeline.microbatches=2"})) == 2);
}

TEST_CASE("a model is asked for, and unknown keys of [model] are refused") {
  CHECK(refusal("").find("run.toml:1:1: no model is named; write [model]") == 0);
  CHECK(refusal("[model]\nname = \"x\"\n").find("no model is named") != std::string::npos);
  const std::string message = refusal("[model]\nfiel = \"x\"\n");
  CHECK(message.find("unknown key model.fiel; did you mean model.file?") != std::string::npos);
}

TEST_CASE("files that cannot be read are named, all of them") {
  const Folder folder;
  try {
    read_config({folder.path() / "none.toml", folder.path()}, {});
    FAIL("was taken");
  } catch (const UsageError& error) {
    const std::string message = error.what();
    INFO(message);
    CHECK(message.find("none.toml: cannot be read: No such file") != std::string::npos);
    CHECK(message.find("it is a folder") != std::string::npos);
    CHECK(lines_of(message) == 2);
  }
}

TEST_CASE("problems of --set name it") {
  const auto with = [](const std::string& set) { return refusal(kModel, {set}); };
  CHECK(with("pipeline.stages=0")
            .find("--set pipeline.stages: pipeline.stages = 0 is out of range") == 0);
  CHECK(with("pipeline.stags=2").find("--set pipeline.stags: unknown key") == 0);
  CHECK(with("pipeline.stages").find("--set pipeline.stages: this is not a setting") == 0);
  CHECK(with("=3").find("write --set key.path=value") != std::string::npos);
  CHECK(with("a b=3").find("this is not a setting") != std::string::npos);
  CHECK(with("pipeline.stages=").find("--set pipeline.stages: ") == 0);
  CHECK(with("pipeline.split=[\"a\"").find("--set pipeline.split: ") == 0);
  CHECK(with("pipeline.schedule=gpip").find("did you mean 'gpipe'?") != std::string::npos);
  CHECK(with("pipeline=3").find("pipeline is a value") != std::string::npos);
}
