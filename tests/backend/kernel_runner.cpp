// What scripts/check-torch asks of a backend:
//   kernel_runner BACKEND FOLDER...
// A folder holds case.json (the graph), input.f32 or (tokens) input.i32, target.f32 or target.i32
// and NAME.f32 of every parameter and buffer, raw little-endian. Results go to FOLDER/BACKEND/.
// BACKEND-bf16 is that backend at that precision.
//   kernel_runner BACKEND --outputs MODEL.toml WEIGHTS.safetensors INPUT.f32 OUTPUT.f32
// The outputs of a trained model, evaluated as training would: the model and the weights are read
// as `pipetrain eval` reads them, in one stage of the runtime, all samples at once.
//   kernel_runner BACKEND --relus MODEL.toml WEIGHTS.safetensors INPUT.f32 FOLDER
// The output of every relu of the model in training: FOLDER/N.f32, N its place among the layers.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "checkpoint/parameters.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "harness.hpp"
#include "stage/stage.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;
using nlohmann::json;
using std::filesystem::path;

namespace {

template <class T>
std::vector<T> read(const path& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  if (!in) throw DataError("cannot read " + file.string());
  std::vector<T> values(static_cast<std::size_t>(in.tellg()) / sizeof(T));
  in.seekg(0).read(reinterpret_cast<char*>(values.data()),
                   static_cast<std::streamsize>(values.size() * sizeof(T)));
  return values;
}

void write(const path& file, const Floats& values) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()),
             static_cast<std::streamsize>(values.size() * sizeof(float)));
}

LayerSpec spec_of(const json& layer) {
  const std::string kind = layer.at("kind");
  const auto pair = [&](const char* key) { return layer.at(key).get<Pair>(); };
  if (kind == "linear") return Linear{layer.at("out_features"), layer.at("bias")};
  if (kind == "conv2d")
    return Conv2d{layer.at("out_channels"), pair("kernel"),     pair("stride"),
                  pair("padding"),          layer.at("groups"), layer.at("bias")};
  if (kind == "batch_norm") return BatchNorm{layer.at("eps"), layer.at("momentum")};
  if (kind == "max_pool") return MaxPool{pair("kernel"), pair("stride"), pair("padding")};
  if (kind == "avg_pool") return AvgPool{pair("kernel"), pair("stride"), pair("padding")};
  if (kind == "dropout") return Dropout{layer.at("p")};
  if (kind == "layer_norm") return LayerNorm{layer.at("eps"), layer.at("bias")};
  if (kind == "gelu") return Gelu{layer.at("tanh")};
  if (kind == "embedding") return Embedding{layer.at("embedding_dim"), layer.at("scale")};
  if (kind == "narrow") return Narrow{layer.at("start"), layer.at("length")};
  if (kind == "attention")
    return Attention{layer.at("heads"), layer.at("causal"), layer.at("padding")};
  if (kind == "lstm")
    return Lstm{layer.at("hidden_size"), layer.at("reverse"), layer.at("bidirectional"),
                layer.at("bias"), layer.at("padding")};
  if (kind == "additive_attention")
    return AdditiveAttention{layer.at("normalize"), layer.at("padding")};
  static const std::map<std::string, LayerSpec> plain = {
      {"learned_positions", LearnedPositions{}},
      {"sinusoidal_positions", SinusoidalPositions{}},
      {"concat", Concat{}},
      {"relu", Relu{}},
      {"global_avg_pool", GlobalAvgPool{}},
      {"flatten", Flatten{}},
      {"add", Add{}},
      {"identity", Identity{}}};
  return plain.at(kind);
}

Task read_task(const path& folder) {
  const json spec = json::parse(std::ifstream(folder / "case.json"));
  std::vector<Node> nodes;
  for (const json& layer : spec.at("layers"))
    nodes.push_back({layer.at("name"), spec_of(layer), layer.at("output"), layer.at("inputs")});
  const Loss loss = spec.at("loss") == "mse" ? Loss::Mse : Loss::CrossEntropy;
  Task task;
  task.graph = make_graph(Shape{spec.at("input"), spec.at("vocabulary")}, nodes, loss);
  task.graph.label_smoothing = spec.at("label_smoothing");
  task.samples = spec.at("samples");
  task.mode = spec.at("mode") == "train" ? Mode::Train : Mode::Evaluate;
  task.loss_scale = spec.at("loss_scale");
  for (const Layer& layer : task.graph.layers) {
    for (const auto& p : layer.parameters)
      task.weighting.parameters[p.name] = read<float>(folder / (p.name + ".f32"));
    for (const auto& b : layer.buffers)
      task.weighting.buffers[b.name] = read<float>(folder / (b.name + ".f32"));
  }
  Microbatch& microbatch = task.microbatches.emplace_back();
  if (task.graph.input.vocabulary > 0)
    microbatch.tokens = read<std::int32_t>(folder / "input.i32");
  else
    microbatch.input = read<float>(folder / "input.f32");
  if (loss == Loss::Mse)
    microbatch.values = read<float>(folder / "target.f32");
  else
    microbatch.classes = read<std::int32_t>(folder / "target.i32");
  return task;
}

void write_outcome(const path& folder, const Outcome& outcome) {
  std::filesystem::create_directories(folder);
  const MicrobatchOutcome& microbatch = outcome.microbatches[0];
  write(folder / "output.f32", microbatch.output);
  write(folder / "output_gradient.f32", microbatch.output_gradient);
  write(folder / "input_gradient.f32", microbatch.input_gradient);
  for (const auto& [name, values] : outcome.gradients)
    write(folder / ("gradient." + name + ".f32"), values);
  for (const auto& [name, values] : outcome.buffers)
    write(folder / ("buffer." + name + ".f32"), values);
  std::ofstream(folder / "result.json")
      << json{{"loss", microbatch.loss.sum}, {"correct", microbatch.loss.correct}};
}

void load(Stage& stage, const NamedTensors& tensors) {
  for (int l = 0; l < stage.layers(); ++l) {
    const Layer& layer = stage.layer(l);
    for (int p = 0; p < std::ssize(layer.parameters); ++p)
      stage.set_parameter(
          l, p, floats(tensors, layer.parameters[static_cast<std::size_t>(p)].name).data());
    for (int b = 0; b < std::ssize(layer.buffers); ++b)
      stage.set_buffer(l, b,
                       floats(tensors, layer.buffers[static_cast<std::size_t>(b)].name).data());
  }
  stage.finish_loading();
  stage.begin_program();
}

// The output of the last layer, from one stage that holds all of the graph's layers.
Floats outputs(Backend& backend, const Graph& graph, const NamedTensors& weights,
               const Floats& input, Mode mode) {
  const int samples = static_cast<int>(std::ssize(input) / graph.input.elements());
  const LoweredModel model(graph, backend.lower(graph, {.samples = samples}));
  const OptimizerConfig none;
  const LayerId last{static_cast<int>(graph.layers.size()) - 1};
  Stage stage({.model = model,
               .backend = backend,
               .optimizer = none,
               .id = {0},
               .first = {0},
               .last = last});
  stage.prepare({samples, mode});
  load(stage, weights);
  PassCall call;
  call.size = {samples, mode};
  call.input = input.data();
  stage.load_input(call);
  stage.forward(call);
  Floats values(static_cast<std::size_t>(samples * graph.layers.back().output.elements()));
  stage.read_output(call, values.data());
  return values;
}

// The model is cut off after each relu in turn, since its output does not depend on later layers.
void write_relus(Backend& backend, Graph graph, const NamedTensors& weights, const Floats& input,
                 const path& folder) {
  std::filesystem::create_directories(folder);
  graph.loss = Loss::Mse;  // takes an output of any shape
  for (; !graph.layers.empty(); graph.layers.pop_back())
    if (std::holds_alternative<Relu>(graph.layers.back().spec))
      write(folder / (std::to_string(graph.layers.size() - 1) + ".f32"),
            outputs(backend, graph, weights, input, Mode::Train));
}

// The two other forms: MODEL WEIGHTS INPUT and where to write.
void run_model(Backend& backend, bool relus, char** arguments) {
  const Graph graph = read_model(arguments[0]);
  const NamedTensors weights = read_parameters(arguments[1], graph);
  const Floats input = read<float>(arguments[2]);
  if (relus) return write_relus(backend, graph, weights, input, arguments[3]);
  write(arguments[3], outputs(backend, graph, weights, input, Mode::Evaluate));
}

constexpr std::string_view kBf16 = "-bf16";

void run_case(std::string_view backend, const path& folder) {
  const bool bf16 = backend.ends_with(kBf16);
  Task task = read_task(folder);
  task.precision = bf16 ? Precision::Bf16 : Precision::F32;
  const auto name = bf16 ? backend.substr(0, backend.size() - kBf16.size()) : backend;
  write_outcome(folder / backend, run(*make_backend(name), task));
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 3)
    throw UsageError(
        "usage: kernel_runner BACKEND (FOLDER... | --outputs MODEL WEIGHTS INPUT OUTPUT | --relus "
        "MODEL WEIGHTS INPUT FOLDER)");
  const std::string_view form = arguments[2];
  if (count == 7 && (form == "--outputs" || form == "--relus")) {
    run_model(*make_backend(arguments[1]), form == "--relus", arguments + 3);
    return 0;
  }
  for (int i = 2; i < count; ++i) run_case(arguments[1], arguments[i]);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "kernel_runner: %s\n", error.what());
  return 1;
}
