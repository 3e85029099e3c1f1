// Beam search over made-up probabilities, whose best sequences are known.
#include "decode/beam_search.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "base/rng.hpp"
#include "catch.hpp"

using namespace pipetrain;

namespace {

using Tokens = std::vector<std::int32_t>;
constexpr std::int32_t pad = 0, a = 1, b = 2, end_token = 3;
constexpr float inf = std::numeric_limits<float>::infinity();

// What follows a prefix: probabilities of pad, a, b and the end.
using Language = std::function<std::vector<float>(const Tokens&)>;

Language table(std::map<Tokens, std::vector<float>> rows, std::vector<float> others) {
  return [rows = std::move(rows), others = std::move(others)](const Tokens& prefix) {
    const auto row = rows.find(prefix);
    return row == rows.end() ? others : row->second;
  };
}

SearchRules rules(int beam, double penalty = 0, std::int64_t longest = 10) {
  return {beam, penalty, longest, end_token, {pad}};
}

BeamSearch searched(const Language& language, const SearchRules& rules) {
  BeamSearch search(rules);
  for (int step = 0; !search.done(); ++step) {
    REQUIRE(step < rules.longest);
    std::vector<std::vector<float>> rows;
    for (const Hypothesis& hypothesis : search.open()) {
      rows.push_back(language(hypothesis.tokens));
      for (float& p : rows.back()) p = std::log(p);
    }
    search.advance(std::vector<std::span<const float>>(rows.begin(), rows.end()));
  }
  return search;
}

Tokens found(const Language& language, const SearchRules& rules) {
  const BeamSearch search = searched(language, rules);
  REQUIRE(search.best());
  return search.best()->tokens;
}

// A language whose likeliest first token is a dead end.
const Language garden_path = table(
    {{{}, {0, 0.5f, 0.4f, 0.1f}}, {{a}, {0, 0.3f, 0.3f, 0.4f}}, {{b}, {0, 0.05f, 0.05f, 0.9f}}},
    {0, 0.1f, 0.1f, 0.8f});

// Random probabilities for each prefix, the same for the same seed.
Language drawn(std::uint64_t seed) {
  return [seed](const Tokens& prefix) {
    std::uint64_t name = 17;
    for (const std::int32_t token : prefix) name = name * 31 + static_cast<std::uint64_t>(token);
    Random random(seed, name);
    std::vector<float> p = {0.2f};
    for (int i = 0; i < 3; ++i) p.push_back(static_cast<float>(0.05 + random.uniform()));
    const float sum = p[0] + p[1] + p[2] + p[3];
    for (float& x : p) x /= sum;
    return p;
  };
}

// The likeliest of all sequences of at most `longest` tokens with the end, or cut there.
std::pair<double, Tokens> likeliest(const Language& language, const Tokens& prefix, double sum,
                                    int longest) {
  const std::vector<float> p = language(prefix);
  std::pair<double, Tokens> best = {sum + std::log(p[end_token]), prefix};
  for (const std::int32_t token : {a, b}) {
    Tokens longer = prefix;
    longer.push_back(token);
    const double on = sum + std::log(p[static_cast<std::size_t>(token)]);
    const auto other = std::ssize(longer) == longest ? std::pair(on, longer)
                                                     : likeliest(language, longer, on, longest);
    if (other.first > best.first) best = other;
  }
  return best;
}

}  // namespace

TEST_CASE("a beam finds what the greedy search misses") {
  CHECK(found(garden_path, rules(1)) == Tokens{a});
  CHECK(found(garden_path, rules(2)) == Tokens{b});
  const BeamSearch search = searched(garden_path, rules(2, 1));
  CHECK(search.best()->log_probability == Approx(std::log(0.36)));
  CHECK(search.best()->score == Approx(std::log(0.36) / (7.0 / 6)));  // two tokens with the end
}

TEST_CASE("an open hypothesis names the earlier one that it continues") {
  bool moved = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Language language = drawn(seed);
    BeamSearch search(rules(3));
    std::vector<Hypothesis> before = {Hypothesis{}};
    while (!search.done()) {
      REQUIRE(search.open().size() <= 3);
      std::vector<std::vector<float>> rows;
      for (std::size_t h = 0; h < search.open().size(); ++h) {
        const Hypothesis& hypothesis = search.open()[h];
        REQUIRE(hypothesis.parent < before.size());
        Tokens prefix = hypothesis.tokens;
        if (!prefix.empty()) prefix.pop_back();
        CHECK(before[hypothesis.parent].tokens == prefix);
        moved = moved || hypothesis.parent != h;
        rows.push_back(language(hypothesis.tokens));
        for (float& p : rows.back()) p = std::log(p);
      }
      before.assign(search.open().begin(), search.open().end());
      search.advance(std::vector<std::span<const float>>(rows.begin(), rows.end()));
    }
  }
  CHECK(moved);
}

TEST_CASE("a beam of one takes the likeliest token each time") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Language language = drawn(seed);
    Tokens greedy;
    while (greedy.size() < 6) {
      const std::vector<float> p = language(greedy);
      const auto best = std::max_element(p.begin() + 1, p.end()) - p.begin();
      if (best == end_token) break;
      greedy.push_back(static_cast<std::int32_t>(best));
    }
    CHECK(found(language, rules(1, 0.6, 6)) == greedy);
  }
}

TEST_CASE("a beam as wide as the language finds the likeliest sequence of all") {
  int beyond_greedy = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Language language = drawn(seed);
    const auto [sum, tokens] = likeliest(language, {}, 0, 4);
    const BeamSearch search = searched(language, rules(64, 0, 4));
    CHECK(search.best()->tokens == tokens);
    CHECK(search.best()->log_probability == Approx(sum));
    beyond_greedy += found(language, rules(1, 0, 4)) != tokens;
  }
  CHECK(beyond_greedy > 3);
}

TEST_CASE("a length penalty makes up for the tokens of a longer sequence") {
  const Language language = table({{{}, {0, 0.45f, 0.05f, 0.5f}}}, {0, 0.05f, 0.05f, 0.9f});
  CHECK(found(language, rules(2, 0)).empty());
  CHECK(found(language, rules(2, 2)) == Tokens{a});
  CHECK(searched(language, rules(2, 2)).best()->score ==
        Approx(std::log(0.405) / std::pow(7.0 / 6, 2)));
  CHECK(found(language, rules(1, 2)).empty());  // a single hypothesis stops at its first end
}

TEST_CASE("a search ends once nothing open can win, even with fewer finished than its width") {
  BeamSearch search(rules(2, 0));
  const std::vector<float> p = {-inf, std::log(0.1f), std::log(0.1f), std::log(0.8f)};
  search.advance(std::vector<std::span<const float>>{p});
  CHECK(search.done());
  CHECK(search.open().empty());
  BeamSearch hopeful(rules(2, 10, 20));  // if length pays, it continues
  hopeful.advance(std::vector<std::span<const float>>{p});
  CHECK_FALSE(hopeful.done());
  CHECK(hopeful.open().size() == 2);
}

TEST_CASE(
    "at the longest length a hypothesis without an end competes as it is, beside those with one") {
  const Language endless = table({}, {0, 0.9f, 0.1f, 0});
  const BeamSearch search = searched(endless, rules(1, 1, 3));
  CHECK(search.best()->tokens == Tokens{a, a, a});
  CHECK(search.best()->score == Approx(3 * std::log(0.9) / (8.0 / 6)));
  const Language one_long = table({{{}, {0, 0.98f, 0, 0.02f}}}, {0, 0.3f, 0.1f, 0.6f});
  CHECK(found(one_long, rules(2, 0, 1)) == Tokens{a});
}

TEST_CASE("ties go to the better hypothesis, then to the lower token") {
  const Language even = table({}, {0, 0.5f, 0.5f, 0});
  CHECK(found(even, rules(1, 0, 3)) == Tokens{a, a, a});
  CHECK(found(even, rules(3, 0, 3)) == Tokens{a, a, a});
  BeamSearch search(rules(2, 0));
  const std::vector<float> p = {0, std::log(0.5f), std::log(0.5f), -inf};
  search.advance(std::vector<std::span<const float>>{p});
  REQUIRE(search.open().size() == 2);
  CHECK(search.open()[0].tokens == Tokens{a});
  CHECK(search.open()[1].tokens == Tokens{b});
  search.advance(std::vector<std::span<const float>>{p, p});
  REQUIRE(search.open().size() == 2);
  CHECK(search.open()[0].tokens == Tokens{a, a});
  CHECK(search.open()[1].tokens == Tokens{a, b});
}

TEST_CASE("excluded tokens and those without a finite probability are never chosen") {
  const Language padded = table({}, {0.97f, 0.01f, 0.01f, 0.01f});
  for (const int beam : {1, 3})
    for (const std::int32_t token : found(padded, rules(beam, 0, 5))) CHECK(token != pad);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  BeamSearch search(rules(2));
  const std::vector<float> one = {nan, nan, -1, -inf};
  search.advance(std::vector<std::span<const float>>{one});
  REQUIRE(search.open().size() == 1);
  CHECK(search.open()[0].tokens == Tokens{b});
  const std::vector<float> none(4, nan);
  search.advance(std::vector<std::span<const float>>{none});
  CHECK(search.done());
  CHECK(search.best() == nullptr);
}

TEST_CASE("log-probabilities of outputs, however large, add up to one") {
  std::vector<float> outputs = {1000, 1001, 999, -inf};
  to_log_probabilities(outputs);
  CHECK(outputs[1] == Approx(-std::log(1 + std::exp(-1.0) + std::exp(-2.0))));
  CHECK(outputs[3] == -inf);
  std::vector<float> broken = {0, 1, inf}, other = {0, std::nanf(""), 1};
  for (auto* all : {&broken, &other}) {
    to_log_probabilities(*all);
    for (const float x : *all) CHECK(std::isnan(x));
  }
}
