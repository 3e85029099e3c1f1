// What scripts/check-bleu asks for: from {"hypotheses": [...], "references": [...]} on stdin to the
// corpus's BLEU, each pair's, and the words of each sentence, as JSON on stdout.
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "metrics/bleu.hpp"
#include "metrics/bleu_words.hpp"

using namespace pipetrain;

namespace {

nlohmann::json described(const BleuCounts& counts) {
  const Bleu score = bleu(counts);
  return {{"score", score.score},
          {"precisions", score.precisions},
          {"bp", score.brevity_penalty},
          {"counts", counts.matches},
          {"totals", counts.totals},
          {"sys_len", counts.hypothesis_words},
          {"ref_len", counts.reference_words}};
}

}  // namespace

int main() {
  const nlohmann::json given = nlohmann::json::parse(std::cin);
  const std::vector<std::string> hypotheses = given.at("hypotheses"),
                                 references = given.at("references");
  BleuCounts all;
  nlohmann::json pairs = nlohmann::json::array();
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    BleuCounts one;
    one.add(hypotheses[i], references.at(i));
    all.add(hypotheses[i], references.at(i));
    nlohmann::json pair = described(one);
    pair["words"] = words_13a(hypotheses[i]);
    pairs.push_back(pair);
  }
  std::cout << nlohmann::json{{"corpus", described(all)}, {"pairs", pairs}} << '\n';
}
