// BLEU against values worked by hand, and its words by the rules of mteval-v13a. scripts/check-bleu
// compares both with sacrebleu.
#include "metrics/bleu.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "metrics/bleu_words.hpp"

using namespace pipetrain;

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;  // hypothesis, reference

BleuCounts counts_of(const Pairs& pairs) {
  BleuCounts counts;
  for (const auto& [hypothesis, reference] : pairs) counts.add(hypothesis, reference);
  return counts;
}
Bleu bleu_of(const Pairs& pairs) { return bleu(counts_of(pairs)); }

std::string words(const std::string& sentence) {  // "a|b"
  std::string joined;
  for (const std::string& word : words_13a(sentence)) joined += (joined.empty() ? "" : "|") + word;
  return joined;
}

// The geometric mean of precisions, in percent.
double mean(double a, double b, double c, double d) { return std::pow(a * b * c * d, 0.25); }

}  // namespace

TEST_CASE("bleu: a text against itself is 100", "[bleu]") {
  const Bleu same = bleu_of({{"The cat sat on the mat.", "The cat sat on the mat."}});
  CHECK(same.score == Approx(100).epsilon(1e-12));
  CHECK(same.precisions == std::array<double, 4>{100, 100, 100, 100});
  CHECK(same.brevity_penalty == 1);
}

TEST_CASE("bleu: a word counts as often as the reference has it", "[bleu]") {
  // The example of the paper. Of 7 words 2 match; no pair of words does, so each later order counts
  // half as much as the one before: 1/2 of 6, 1/4 of 5, 1/8 of 4.
  const Pairs pairs = {{"the the the the the the the", "the cat is on the mat"}};
  CHECK(counts_of(pairs) == BleuCounts{{2, 0, 0, 0}, {7, 6, 5, 4}, 7, 6});
  const Bleu score = bleu_of(pairs);
  CHECK(score.precisions[0] == Approx(200.0 / 7));
  CHECK(score.precisions[1] == Approx(100.0 / 12));
  CHECK(score.precisions[2] == Approx(5));
  CHECK(score.precisions[3] == Approx(3.125));
  CHECK(score.score == Approx(mean(200.0 / 7, 100.0 / 12, 5, 3.125)).epsilon(1e-12));
}

TEST_CASE("bleu: n-grams of two sentences are counted by hand", "[bleu]") {
  // a b c d x y : a b c d e f    words 4/6, pairs 3/5, threes 2/4, fours 1/3
  // p q r s     : p q z r s      words 4/4, pairs 2/3, threes 0/2, fours 0/1
  const Pairs pairs = {{"a b c d x y", "a b c d e f"}, {"p q r s", "p q z r s"}};
  CHECK(counts_of(pairs) == BleuCounts{{8, 5, 2, 1}, {10, 8, 6, 4}, 10, 11});
  const Bleu score = bleu_of(pairs);
  CHECK(score.brevity_penalty == Approx(std::exp(1 - 1.1)).epsilon(1e-12));
  CHECK(score.score == Approx(std::exp(-0.1) * mean(80, 62.5, 200.0 / 6, 25)).epsilon(1e-12));
}

TEST_CASE("bleu: what is too short is punished, what is too long is not", "[bleu]") {
  CHECK(bleu_of({{"a b c d", "a b c d e f"}}).score == Approx(100 * std::exp(-0.5)));
  CHECK(bleu_of({{"a b c d", "a b c d e f"}}).brevity_penalty == Approx(std::exp(-0.5)));
  CHECK(bleu_of({{"a b c d e f", "a b c d"}}).brevity_penalty == 1);
}

TEST_CASE("bleu: nothing matches, or nothing is long enough", "[bleu]") {
  const Bleu nothing = bleu_of({{"a b c d", "e f g h"}});
  CHECK(nothing.score == 0);
  CHECK(nothing.precisions == std::array<double, 4>{});
  CHECK(nothing.brevity_penalty == 1);
  const Bleu empty = bleu_of({{"", "e f g h"}});
  CHECK(empty.score == 0);
  CHECK(empty.brevity_penalty == 0);
  CHECK(bleu_of({}).score == 0);
  const Bleu three = bleu_of({{"a b c", "a b c"}});  // no four words: order 4 still counts
  CHECK(three.score == 0);
  CHECK(three.precisions == std::array<double, 4>{100, 100, 100, 0});
}

TEST_CASE("bleu: case counts, and so does the order of words", "[bleu]") {
  CHECK(counts_of({{"The Cat", "the cat"}}).matches == std::array<std::int64_t, 4>{});
  CHECK(counts_of({{"b a", "a b"}}).matches == std::array<std::int64_t, 4>{2, 0, 0, 0});
}

TEST_CASE("bleu: a word that holds others is not taken for them", "[bleu]") {
  CHECK(counts_of({{"ab c", "a bc"}}).matches == std::array<std::int64_t, 4>{});
}

TEST_CASE("bleu's words: each sign is a word, but ' and - are not", "[bleu]") {
  CHECK(words("Hello (world)!") == "Hello|(|world|)|!");
  CHECK(words("it's well-known") == "it's|well-known");
  CHECK(words("a/b:c;d=e@f[g]h{i}j~k") == "a|/|b|:|c|;|d|=|e|@|f|[|g|]|h|{|i|}|j|~|k");
  CHECK(words("\"x\" #1 $2 50% ^_`|\\") == "\"|x|\"|#|1|$|2|50|%|^|_|`|||\\");
}

TEST_CASE("bleu's words: stops and commas, but between digits", "[bleu]") {
  CHECK(words("1,000.5 a.b x,y") == "1,000.5|a|.|b|x|,|y");
  CHECK(words("In 1999. Yes") == "In|1999|.|Yes");
  CHECK(words(".5 5.") == ".|5|5|.");
  CHECK(words("etc...") == "etc|.|.|.");
  CHECK(words("7., 8.,9") == "7|.|,|8|.|,|9");
}

TEST_CASE("bleu's words: a hyphen after a digit", "[bleu]") {
  CHECK(words("5-year-old 1990-2000 a-1") == "5|-|year-old|1990|-|2000|a-1");
  CHECK(words("1--2") == "1|-|-2");
}

TEST_CASE("bleu's words: entities, skipped parts, ends of lines", "[bleu]") {
  CHECK(words("&quot;a&quot; &amp; b &lt;c&gt;") == "\"|a|\"|&|b|<|c|>");
  CHECK(words("&amp;lt; &amp;quot;") == "<|&|quot|;");
  CHECK(words("a<skipped>b") == "ab");
  CHECK(words("self-\ncontained\ntext-\n") == "selfcontained|text-");
}

TEST_CASE("bleu's words: white space is Unicode's, letters are whatever else", "[bleu]") {
  CHECK(words(" a\tb\u00a0c\u2009d\u3000\x1c"
              "e \v") == "a|b|c|d|e");
  CHECK(words("ä.Ö, „Größe“ …") == "ä|.|Ö|,|„Größe“|…");
  CHECK(words("") == "");
  CHECK(words(" \u2003\n") == "");
}
