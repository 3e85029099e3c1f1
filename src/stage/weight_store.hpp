// The weights of one stage: a ring of as many versions as the program ever needs at once.
//
// Version v of a program is in slot (origin + v) mod copies. Reading hands out pointers, never
// copies; an update writes the next slot, or in place if one copy is kept. Packed copies (layouts
// that only kernels understand) are made once per version, right after the update.
//
// Weights that no update made (extrapolated or blended ones) have one more place, for one set at a
// time. A layer that is not trained has only one place, which all versions share.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "backend/backend.hpp"
#include "program/program.hpp"
#include "stage/layer_watch.hpp"
#include "stage/memory.hpp"

namespace pipetrain {

struct Graph;

struct WeightStoreInput {
  const Graph& graph;
  const Lowering& lowering;
  Stream& stream;
  LayerId first, last;
  int copies = 1;
  bool mixes = false;
};

// Threading: used by one worker.
class WeightStore {
 public:
  WeightStore(const WeightStoreInput& input, StageMemory& memory);

  // A program begins: the live version counts as 0 from now on.
  void begin();
  Version live() const { return live_; }
  int copies() const { return static_cast<int>(copies_.size()); }

  // Weights of a layer (counted within the stage) for one pass.
  Weights read(int layer, Pass pass, const WeightRead& read) const;

  // Parameter `p` of the live version, and where its successor goes: the same if one copy is kept.
  const float* parameter(int layer, int p) const { return at(live_, layer, p); }
  float* parameter(int layer, int p) { return at(live_, layer, p); }
  float* next_parameter(int layer, int p) { return at({live_.value + 1}, layer, p); }
  std::size_t elements(int layer, int p) const;
  int parameters(int layer) const { return static_cast<int>(bytes_[layer].size()); }

  // Where mixed weights are written, and which are there; set_mixed() makes their packed copies.
  float* mixed_parameter(int layer, int p);
  bool holds_mixed(const WeightRead& read) const { return mixed_read_ == read; }
  void set_mixed(const WeightRead& read);
  const float* parameter(Version version, int layer, int p) const { return at(version, layer, p); }

  // The successor is complete: makes it live, and makes its packed copies.
  void advance(LayerWatch* watch = nullptr);
  // Packs the live version again, after its parameters were written from outside.
  void pack();

 private:
  struct LayerWeights {
    std::vector<const void*> parameters;
    void* packed_forward = nullptr;
    void* packed_backward = nullptr;
  };
  using Copy = std::vector<LayerWeights>;  // per layer of the stage

  Copy take_copy(StageMemory& memory) const;
  void pack(const Copy& copy, std::size_t layer, LayerWatch* watch);
  void pack_trained(const Copy& copy, LayerWatch* watch = nullptr);
  const Copy& copy(Version version) const;
  float* at(Version version, int layer, int p) const;

  const Lowering& lowering_;
  Stream& stream_;
  const LayerId first_;
  std::vector<std::vector<std::size_t>> bytes_;  // per layer, per parameter
  std::vector<bool> trains_;                     // per layer
  std::vector<Copy> copies_;
  Copy mixed_;
  std::optional<WeightRead> mixed_read_;
  int origin_ = 0;
  Version live_{0};
};

}  // namespace pipetrain
