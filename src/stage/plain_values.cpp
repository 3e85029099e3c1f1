// A stage's tensors for code that saves or compares them: plain, in PyTorch's layout.
#include "base/bytes_of.hpp"
#include "graph/layer.hpp"
#include "stage/stage.hpp"

namespace pipetrain {
namespace {

std::size_t buffer_bytes(const Layer& layer, int index) {
  const auto elements = layer.buffers[index].shape.elements();
  return bytes_of<float>(elements);
}

}  // namespace

void Stage::set_parameter(int layer, int parameter, const float* plain) {
  input_.model.lowering().load_parameter(*stream_, {input_.first.value + layer}, parameter, plain,
                                         weights_.parameter(layer, parameter));
}

void Stage::get_parameter(int layer, int parameter, float* plain) const {
  input_.model.lowering().store_parameter(*stream_, {input_.first.value + layer}, parameter,
                                          weights_.parameter(layer, parameter), plain);
}

void Stage::set_delta(int layer, int parameter, const float* plain) {
  if (float* const delta = optimizer_.delta(layer, parameter))
    input_.model.lowering().load_parameter(*stream_, {input_.first.value + layer}, parameter, plain,
                                           delta);
}

void Stage::get_delta(int layer, int parameter, float* plain) const {
  if (const float* const delta = optimizer_.delta(layer, parameter))
    input_.model.lowering().store_parameter(*stream_, {input_.first.value + layer}, parameter,
                                            delta, plain);
}

void Stage::set_moment(int layer, int parameter, int moment, const float* plain) {
  input_.model.lowering().load_parameter(*stream_, {input_.first.value + layer}, parameter, plain,
                                         optimizer_.moment(layer, parameter, moment));
}

void Stage::get_moment(int layer, int parameter, int moment, float* plain) const {
  input_.model.lowering().store_parameter(*stream_, {input_.first.value + layer}, parameter,
                                          optimizer_.moment(layer, parameter, moment), plain);
}

void Stage::set_buffer(int layer, int index, const float* values) {
  stream_->write(buffers_[layer][index], values, buffer_bytes(this->layer(layer), index));
}

void Stage::get_buffer(int layer, int index, float* values) {
  stream_->read(values, buffers_[layer][index], buffer_bytes(this->layer(layer), index));
}

}  // namespace pipetrain
