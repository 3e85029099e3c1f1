// A model's weights through a file, and files of other models.
#include "checkpoint/parameters.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "catch.hpp"
#include "checkpoint/safetensors.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "scratch.hpp"

using namespace pipetrain;
namespace fs = std::filesystem;

namespace {

struct File {
  fs::path path =
      fs::temp_directory_path() / ("pipetrain-parameters-" + std::to_string(::getpid()));
  ~File() { fs::remove(path); }
};

Graph small_graph() {
  return read_model_text(R"(
name = "small"
input = { shape = [2, 4, 4] }
loss = "mse"
[[layers]]
name = "conv"
kind = "conv2d"
out_channels = 3
kernel = 3
[[layers]]
name = "bn"
kind = "batch_norm"
)",
                         "small.toml");
}

std::string error_of(const fs::path& file, const Graph& graph) {
  try {
    read_parameters(file, graph);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("the state of a model has PyTorch's names and shapes") {
  const NamedTensors tensors = initial_parameters(small_graph(), 1);
  std::string names;
  for (const auto& [name, tensor] : tensors) names += name + tensor.shape.text() + " ";
  CHECK(names ==
        "bn.bias[3] bn.num_batches_tracked[] bn.running_mean[3] bn.running_var[3] bn.weight[3] "
        "conv.bias[3] conv.weight[3, 2, 3, 3] ");
  CHECK(floats(tensors, "bn.running_var") == std::vector<float>{1, 1, 1});
  CHECK(floats(tensors, "bn.bias") == std::vector<float>{0, 0, 0});
  CHECK(count(tensors, "bn.num_batches_tracked") == 0);
  CHECK(floats(tensors, "conv.weight").size() == 54);
  CHECK(floats(initial_parameters(small_graph(), 2), "conv.weight") !=
        floats(tensors, "conv.weight"));
}

TEST_CASE("weights go through a file bit for bit") {
  const File file;
  NamedTensors tensors = initial_parameters(small_graph(), 3);
  count(tensors, "bn.num_batches_tracked") = 42;
  write_parameters(file.path, tensors);
  const NamedTensors read = read_parameters(file.path, small_graph());
  REQUIRE(read.size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    INFO(name);
    CHECK(read.at(name).shape == tensor.shape);
    CHECK(read.at(name).values == tensor.values);
  }
}

TEST_CASE("num_batches_tracked may be absent") {
  const File file;
  NamedTensors tensors = initial_parameters(small_graph(), 3);
  tensors.erase("bn.num_batches_tracked");
  write_parameters(file.path, tensors);
  CHECK(count(read_parameters(file.path, small_graph()), "bn.num_batches_tracked") == 0);
}

TEST_CASE("weights of another model: everything that differs is listed at once") {
  const File file;
  NamedTensors tensors = initial_parameters(small_graph(), 3);
  tensors.erase("conv.bias");
  tensors.erase("bn.running_mean");
  tensors["conv.bais"] = {Shape{{3}}, std::vector<float>{1, 2, 3}};
  tensors["conv.weight"] = {Shape{{1, 2}}, std::vector<float>{1, 2}};
  tensors["bn.weight"] = {Shape{{3}}, std::vector<std::int64_t>{1, 2, 3}};
  write_parameters(file.path, tensors);
  const std::string error = error_of(file.path, small_graph());
  INFO(error);
  CHECK(contains(error, file.path.string() + ": these are not the weights of model 'small'"));
  CHECK(contains(error, "'conv.bias' [3] is missing"));
  CHECK(contains(error, "'bn.running_mean' [3] is missing"));
  CHECK(contains(error, "'conv.bais' is not in the model"));
  CHECK(contains(error, "'conv.weight' is [1, 2] there, [3, 2, 3, 3] in the model"));
  CHECK(contains(error, "'bn.weight' is I64 there; convert it to F32"));
  CHECK(std::count(error.begin(), error.end(), '\n') == 6);
}

TEST_CASE("a parameter that several layers use may be in a file under any of its names") {
  const Graph graph = read_model_text(R"(
input = { shape = [3] }
loss = "mse"
[[layers]]
name = "a"
kind = "linear"
out_features = 3
bias = false
[[layers]]
name = "b"
kind = "linear"
out_features = 3
bias = false
tied = "a"
)",
                                      "tied.toml");
  const NamedTensors first = initial_parameters(graph, 1);
  REQUIRE(first.size() == 2);
  CHECK(first.at("a.weight").values == first.at("b.weight").values);
  const File file;
  for (const std::string left_out : {"", "a.weight", "b.weight"}) {
    INFO(left_out);
    NamedTensors tensors = first;
    tensors.erase(left_out);
    write_parameters(file.path, tensors);
    const NamedTensors read = read_parameters(file.path, graph);
    CHECK(read.at("a.weight").values == first.at("a.weight").values);
    CHECK(read.at("b.weight").values == first.at("a.weight").values);
  }
  NamedTensors other = first;
  floats(other, "b.weight")[4] += 1;
  write_parameters(file.path, other);
  CHECK(contains(error_of(file.path, graph),
                 "'a.weight' and 'b.weight' differ there; in the model they are one parameter"));
  write_parameters(file.path, {});
  const std::string error = error_of(file.path, graph);
  CHECK(contains(error, "'a.weight' [3, 3] is missing"));
  CHECK(contains(error, "'b.weight' [3, 3] is missing"));
}
