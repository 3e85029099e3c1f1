#include "base/rng.hpp"

#include "catch.hpp"

using namespace pipetrain;

TEST_CASE("philox gives the published known answers", "[rng]") {
  // Random123's kat_vectors, philox4x32 10 rounds.
  CHECK(philox(0, 0, 0) ==
        std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox(~0ull, ~0ull, ~0ull) ==
        std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
}

TEST_CASE("a stream is a function of seed and name", "[rng]") {
  Random a(1, "conv1.weight"), b(1, "conv1.weight"), c(1, "conv2.weight"), d(2, "conv1.weight");
  const auto first = a.next();
  CHECK(first == b.next());
  CHECK(first != c.next());
  CHECK(first != d.next());
}

TEST_CASE("uniform, normal and below have their moments", "[rng]") {
  Random random(3, 0);
  double sum = 0, normal = 0, square = 0;
  std::array<int, 5> seen{};
  constexpr int count = 20000;
  for (int i = 0; i < count; ++i) {
    sum += random.uniform();
    const double n = random.normal();
    normal += n;
    square += n * n;
    ++seen[random.below(5)];
  }
  CHECK(sum / count == Approx(0.5).margin(0.01));
  CHECK(normal / count == Approx(0).margin(0.03));
  CHECK(square / count == Approx(1).margin(0.05));
  for (const int n : seen) CHECK(n == Approx(count / 5).margin(250));
}
