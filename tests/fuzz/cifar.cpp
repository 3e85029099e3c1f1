// CIFAR files, plain and gzip. The first byte of the input names the kind, the rest is the file.
#include <array>

#include "data_pair.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;

namespace {

const Graph& model() {
  static const Graph graph = read_model_text(R"(
input = { shape = [3, 32, 32] }
layers = [{ name = "flat", kind = "flatten" }, { name = "fc", kind = "linear", out_features = 100 }]
)",
                                             "cifar.toml");
  return graph;
}

const CifarKind& kind_of(std::uint8_t letter) {
  if (letter == 't') return cifar_kind(DataKind::Cifar10, CifarLabels::Fine);
  return cifar_kind(DataKind::Cifar100, letter == 'c' ? CifarLabels::Coarse : CifarLabels::Fine);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  static fuzz::MemoryFile file;
  if (count == 0) return 0;
  return fuzz::refused_or_read([&] {
    const std::array files = {file.holding(fuzz::text_of(bytes, count).substr(1))};
    fuzz::read_all(*open_cifar(files, kind_of(bytes[0]), model()));
  });
}
