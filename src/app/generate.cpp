// What a language model continues a prompt with, printed token by token. Models of two sides
// translate: app/translate.cpp.
//
// Each token takes a forward over the model's whole context: the last T tokens or, if there are
// fewer, all of them with padding after them. No position sees a later one, so the padding does not
// change the outputs that are read.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/run_argument.hpp"
#include "app/translate.hpp"
#include "app/verbs.hpp"
#include "base/error.hpp"
#include "base/input_file.hpp"
#include "base/json_text.hpp"
#include "base/printable.hpp"
#include "checkpoint/load.hpp"
#include "config/read.hpp"
#include "data/formats.hpp"
#include "data/text/windows.hpp"
#include "decode/forward_pass.hpp"
#include "decode/next_token.hpp"
#include "graph/graph.hpp"
#include "graph/traits.hpp"
#include "run/session.hpp"
#include "run/trained.hpp"

namespace pipetrain {
namespace {

using Tokens = std::vector<std::int32_t>;

constexpr std::array of_language_models = {"--prompt", "--tokens", "--temperature",
                                           "--top-k",  "--seed",   "--samples"};
constexpr std::array of_translations = {"--beam", "--length-penalty", "--batch"};

void refuse_given(const Options& options, std::span<const char* const> names,
                  std::string_view why) {
  for (const std::string& given : options.given)
    if (std::ranges::find(names, given) != names.end())
      throw UsageError(fmt::format("pipetrain generate: {} {}; leave it out", given, why));
}

void require_language_model(const Graph& graph) {
  if (graph.input.vocabulary == 0)
    throw UsageError(fmt::format(
        "pipetrain generate: '{}' is neither a language model nor a translation model: its input "
        "has shape {}, not tokens; name the run or the config of one that is",
        printable(graph.name), graph.input.text()));
  require_token_model("pipetrain generate", graph);
  for (const Layer& layer : graph.layers) {
    if (reads_ahead(layer))
      throw UsageError(fmt::format(
          "the layer '{}' reads later tokens, so the model cannot predict the next one; use causal "
          "attention (causal = true) and forward lstm layers, and train the model again",
          layer.name));
  }
}

// Null if the config's data are tokens whose text is unknown.
std::optional<Vocabulary> find_vocabulary(const Config& config,
                                          const std::filesystem::path& weights) {
  if (!config.data.vocabulary.empty()) return Vocabulary::read(config.data.vocabulary);
  if (const auto beside = vocabulary_beside(weights)) return Vocabulary::read(*beside);
  if (config.data.kind != DataKind::Text) return std::nullopt;
  if (config.data.tokenizer == Tokenizer::Bytes || is_there(config.data.train_text))
    return text_vocabulary(config.data);
  throw DataError(
      fmt::format("{}: there is no vocabulary.json next to the weights, and no text at {} to make "
                  "one from; name a vocabulary with --set data.vocabulary='\"vocabulary.json\"'",
                  weights.string(), config.data.train_text.string()));
}

std::string read_prompt(const Options& options) {
  if (options.prompt != "-") return options.prompt.value_or("\n");
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

// "12 7 300"
Tokens parse_tokens(const std::string& text, std::int64_t vocabulary) {
  std::istringstream words(text);
  Tokens tokens;
  for (std::string word; words >> word;) {
    const bool digits = word.find_first_not_of("0123456789") == word.npos && word.size() < 10;
    if (!digits || std::stol(word) >= vocabulary)
      throw UsageError(
          fmt::format("--prompt: \"{}\" is not a token; the model's tokens are the numbers 0 to "
                      "{}, and their text is unknown (name a vocabulary.json with data.vocabulary)",
                      word, vocabulary - 1));
    tokens.push_back(static_cast<std::int32_t>(std::stol(word)));
  }
  return tokens;
}

Tokens prompt_tokens(const Options& options, const std::optional<Vocabulary>& vocabulary,
                     const Graph& graph) {
  const std::string prompt = read_prompt(options);
  Tokens tokens;
  if (!vocabulary) {
    tokens = parse_tokens(prompt, model_vocabulary(graph));
  } else {
    try {
      for (const Token token : vocabulary->tokens(prompt, "--prompt")) tokens.push_back(token);
    } catch (const DataError& error) {
      if (options.prompt) throw UsageError(error.what());
      throw UsageError(
          "--prompt is missing: a text begins after a new line, which is not in this model's "
          "vocabulary; write --prompt TEXT");
    }
  }
  if (tokens.empty() && !options.prompt)
    throw UsageError(
        "--prompt is missing: this model's tokens are numbers; write some, such as --prompt "
        "\"12 7 300\"");
  if (tokens.empty())
    throw UsageError(vocabulary ? "--prompt is empty; write at least one character"
                                : "--prompt has no token; write numbers, such as \"12 7 300\"");
  return tokens;
}

struct Writer {
  const Options& options;
  const Graph& graph;
  const std::optional<Vocabulary>& vocabulary;
  ForwardPass& pass;

  std::string text_of(std::int32_t token) const {
    return vocabulary ? vocabulary->text(static_cast<Token>(token)) : fmt::format("{} ", token);
  }
  void say(std::int32_t token) const {
    if (!options.json) std::cout << text_of(token) << std::flush;
  }

  std::int32_t next(const Tokens& tokens, Random& random) const {
    const std::int64_t context = graph.input.dims[0];
    Tokens window(tokens.end() - std::min(context, std::ssize(tokens)), tokens.end());
    const std::size_t position = window.size() - 1;
    window.resize(context, 0);
    const auto width = static_cast<std::size_t>(graph.layers.back().output.dims[1]);
    // A model's vocabulary may be larger than the text's.
    const auto known =
        static_cast<std::size_t>(vocabulary ? vocabulary->size() : model_vocabulary(graph));
    const std::int32_t token =
        next_token(pass.run(window).subspan(position * width, known),
                   {.temperature = options.temperature, .top_k = options.top_k}, random);
    if (token < 0)
      throw DataError(
          "the model's output is not finite: its training diverged; name other weights");
    return token;
  }

  // The prompt and its continuation. Ends early if standard output is closed.
  Tokens sample(Tokens tokens, int number) const {
    Random random(options.seed, hash_name("generate") + static_cast<std::uint64_t>(number));
    if (number > 0 && !options.json) std::cout << "---------------\n";
    for (const std::int32_t token : tokens) say(token);
    for (std::int64_t i = 0; i < options.tokens && std::cout; ++i) {
      tokens.push_back(next(tokens, random));
      say(tokens.back());
    }
    if (!options.json) std::cout << std::endl;
    return tokens;
  }
};

nlohmann::ordered_json json_of(const Tokens& tokens, std::size_t prompt, const Writer& writer) {
  nlohmann::ordered_json json;
  if (writer.vocabulary) {
    std::string text;
    for (std::size_t i = prompt; i < tokens.size(); ++i) text += writer.text_of(tokens[i]);
    json["text"] = text;
  }
  json["tokens"] = Tokens(tokens.begin() + static_cast<std::ptrdiff_t>(prompt), tokens.end());
  return json;
}

}  // namespace

int generate(const Options& given) {
  const Options options = with_run_directory(given);
  const ReadConfig read = read_config(options.configs, options.sets);
  const Config& config = read.config;
  for (const std::string& note : read.notes) spdlog::info("{}", note);
  const Graph graph = load_graph(read);
  if (graph.target_tokens > 0) {
    refuse_given(options, of_language_models, "continues a text, but this model translates");
    return translate(options, read, graph);
  }
  require_language_model(graph);
  refuse_given(options, of_translations, "is for translations, but this model has only one side");
  const std::filesystem::path weights = weights_to_read(options, config);
  const std::optional<Vocabulary> vocabulary = find_vocabulary(config, weights);
  if (vocabulary && vocabulary->size() > model_vocabulary(graph))
    throw UsageError(fmt::format("the vocabulary has {} tokens, but the model {}",
                                 vocabulary->size(), model_vocabulary(graph)));
  const Tokens prompt = prompt_tokens(options, vocabulary, graph);
  const NamedTensors parameters = read_weights(weights, graph);
  const std::unique_ptr<Backend> backend =
      make_backend(config.hardware.backend, config.hardware.devices);
  ForwardPass pass({graph, *backend, config}, parameters);
  const Writer writer{options, graph, vocabulary, pass};
  auto samples = nlohmann::ordered_json::array();
  for (int i = 0; i < options.samples; ++i) {
    const Tokens tokens = writer.sample(prompt, i);
    if (options.json) samples.push_back(json_of(tokens, prompt.size(), writer));
  }
  if (options.json) {
    const nlohmann::ordered_json result = {
        {"model", weights.string()}, {"prompt", prompt}, {"samples", samples}};
    std::cout << json_text(result) << std::endl;
  }
  return 0;
}

}  // namespace pipetrain
