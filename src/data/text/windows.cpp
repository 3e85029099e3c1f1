#include "data/text/windows.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "data/formats.hpp"
#include "graph/graph.hpp"

namespace pipetrain {

namespace {

struct Part {
  TokenSpan span;
  std::int64_t first_window = 0;
};

class Windows final : public Dataset {
 public:
  Windows(std::vector<TokenSpan> spans, std::int64_t stride, const Graph& graph)
      : shape_(graph.input), classes_(model_classes(graph)) {
    stride_ = stride > 0 ? stride : context();
    for (TokenSpan& span : spans) {
      const std::int64_t windows = windows_in(span);
      parts_.push_back({std::move(span), size_});
      size_ += windows;
    }
  }
  std::int64_t size() const override { return size_; }
  const Shape& input_shape() const override { return shape_; }
  int classes() const override { return classes_; }
  std::int64_t labels() const override { return context(); }
  const Shape& target_shape() const override { return no_target_; }
  void read(const SampleRequest& which, const Sample& to) const override {
    const Part& part =
        *std::prev(std::ranges::upper_bound(parts_, which.index, {}, &Part::first_window));
    const Token* from =
        part.span.tokens->data() + part.span.first + (which.index - part.first_window) * stride_;
    std::copy_n(from, context(), to.tokens);
    std::copy_n(from + 1, context(), to.classes);
  }

 private:
  std::int64_t context() const { return shape_.dims[0]; }
  std::int64_t windows_in(const TokenSpan& span) const {
    const std::int64_t tokens = span.last - span.first;
    if (tokens <= context())
      throw DataError(fmt::format(
          "{}: {} too few for a window of {}: the model reads {} and predicts the next; "
          "use a longer text, or fewer tokens in the model's input",
          span.file.string(), counted(tokens, "token") + (tokens == 1 ? " is" : " are"),
          context() + 1, context()));
    return (tokens - context() - 1) / stride_ + 1;
  }

  Shape shape_, no_target_;
  int classes_;
  std::int64_t stride_ = 1, size_ = 0;
  std::vector<Part> parts_;
};

}  // namespace

Sequences hold_out_tails(Sequences sequences, double fraction) {
  sequences.validation.clear();
  for (TokenSpan& span : sequences.train) {
    TokenSpan tail = span;
    const auto tokens = static_cast<double>(span.last - span.first);
    span.last = tail.first = span.first + static_cast<std::int64_t>(tokens * (1 - fraction));
    sequences.validation.push_back(std::move(tail));
  }
  return sequences;
}

std::unique_ptr<const Dataset> windows_of(std::vector<TokenSpan> spans, std::int64_t stride,
                                          const Graph& graph) {
  return std::make_unique<Windows>(std::move(spans), stride, graph);
}

void require_token_model(std::string_view source, const Graph& graph) {
  require_class_loss(source, graph);
  const Shape &input = graph.input, &output = model_output(graph);
  if (input.vocabulary == 0 || input.dims.size() != 1)
    throw UsageError(
        fmt::format("{}: a sample is a sequence of tokens, but the model's input has shape {}; "
                    "write input = {{ tokens = 64, vocabulary = 256 }} in the model, or name data "
                    "that fits",
                    source, input.text()));
  if (graph.target_tokens > 0)
    throw UsageError(
        fmt::format("{}: a text has one side, but the model's input has two, source and target; "
                    "name a model of one, input = {{ tokens = T, vocabulary = V }}",
                    source));
  if (output.dims.size() != 2 || output.dims[0] != input.dims[0])
    throw UsageError(
        fmt::format("{}: each of {} tokens has a next one to predict, but the model's output has "
                    "shape {}; end it in a linear layer over [{}, features]",
                    source, input.dims[0], output.text(), input.dims[0]));
}

std::int64_t model_vocabulary(const Graph& graph) {
  return std::min<std::int64_t>(graph.input.vocabulary, model_classes(graph));
}

}  // namespace pipetrain
