// Stored elements: what bf16 rounds to, one at a time and by the loops of every instruction set
// that this machine has.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "backend/cpu/layout.hpp"
#include "backend/cpu/loops/vector_loops.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"

using namespace pipetrain;
using namespace pipetrain::cpu;

namespace {

float of_bits(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

struct Rounding {
  std::uint32_t f32;
  std::uint16_t bf16;
};

// By hand: bf16 keeps the upper 16 bits; 0x8000 below is half a step.
const std::vector<Rounding> kRoundings = {
    {0x3F800000, 0x3F80},  // 1
    {0xC0490FDB, 0xC049},  // -pi, down
    {0x3F80FFFF, 0x3F81},  // nearly a step up
    {0x3F808000, 0x3F80},  // a tie, to the even one below
    {0x3F818000, 0x3F82},  // a tie, to the even one above
    {0x3F808001, 0x3F81},  // just above a tie
    {0x3F7FFFFF, 0x3F80},  // the carry goes into the exponent
    {0x80000000, 0x8000},  // -0
    {0x7F800000, 0x7F80},  // infinity
    {0xFF800000, 0xFF80},  // -infinity
    {0x7F7F7FFF, 0x7F7F},  // the largest
    {0x7F7FFFFF, 0x7F80},  // beyond it
    {0x00800000, 0x0080},  // the smallest that is not denormal
};
const std::vector<Rounding> kDenormals = {{0x00400000, 0x0040}, {0x80018001, 0x8002}};

std::vector<std::pair<std::string, const ElementLoops<Bf16>*>> element_loops_here() {
  std::vector<std::pair<std::string, const ElementLoops<Bf16>*>> found = {
      {"portable", &portable_loops().bf16}, {"chosen", &element_loops<Bf16>()}};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) found.emplace_back("avx2", &avx2_loops().bf16);
  if (__builtin_cpu_supports("avx512bw")) found.emplace_back("avx512", &avx512_loops().bf16);
#endif
  return found;
}

// 16 at a time and, with 7 more, the end of a row.
std::uint16_t narrowed(const ElementLoops<Bf16>& loops, float value, std::int64_t count) {
  const std::vector<float> from(static_cast<std::size_t>(count), value);
  std::vector<Bf16> to(from.size() + 1, Bf16{0x1234});
  loops.narrow(from.data(), to.data(), count);
  for (std::size_t i = 1; i < from.size(); ++i) CHECK(to[i].bits == to[0].bits);
  CHECK(to.back().bits == 0x1234);  // nothing is written after the end
  return to[0].bits;
}

}  // namespace

TEST_CASE("bf16 is the nearest, ties to even", "[cpu]") {
  for (const Rounding& r : kRoundings) {
    INFO(std::hex << r.f32);
    CHECK(from_float<Bf16>(of_bits(r.f32)).bits == r.bf16);
    for (const auto& [name, loops] : element_loops_here()) {
      INFO(name);
      CHECK(narrowed(*loops, of_bits(r.f32), 16) == r.bf16);
      CHECK(narrowed(*loops, of_bits(r.f32), 39) == r.bf16);
    }
  }
}

TEST_CASE("bf16 of a denormal is the nearest, or the processor's zero", "[cpu]") {
  for (const Rounding& r : kDenormals) {
    INFO(std::hex << r.f32);
    CHECK(from_float<Bf16>(of_bits(r.f32)).bits == r.bf16);
    for (const auto& [name, loops] : element_loops_here()) {
      const std::uint16_t found = narrowed(*loops, of_bits(r.f32), 16);
      INFO(name << " " << found);
      CHECK((found == r.bf16 || (name == "chosen" && found == (r.bf16 & 0x8000))));
    }
  }
}

// The second would round to infinity if it were treated as a number.
TEST_CASE("bf16 of a NaN is a NaN", "[cpu]") {
  for (const std::uint32_t bits : {0x7FC00000u, 0x7F800001u, 0xFFFFFFFFu}) {
    INFO(std::hex << bits);
    CHECK(std::isnan(to_float(from_float<Bf16>(of_bits(bits)))));
    for (const auto& [name, loops] : element_loops_here()) {
      INFO(name);
      CHECK(std::isnan(to_float(Bf16{narrowed(*loops, of_bits(bits), 16)})));
    }
  }
}

TEST_CASE("bf16 widens to the same number, denormals included", "[cpu]") {
  for (const auto& [name, loops] : element_loops_here()) {
    INFO(name);
    const std::array<Bf16, 6> from = {Bf16{0x3F80}, {0xC049}, {0x0001},
                                      {0x8000},     {0x7F80}, {0x7F7F}};
    std::array<float, 6> to{};
    loops->widen(from.data(), to.data(), 6);
    for (std::size_t i = 0; i < from.size(); ++i)
      CHECK(__builtin_bit_cast(std::uint32_t, to[i]) == std::uint32_t{from[i].bits} << 16);
  }
}

TEST_CASE("a bf16 value takes two bytes an element, in the same places", "[cpu]") {
  ValueLayout layout = blocked_layout(Shape{{3, 2, 2}});
  CHECK(layout.bytes(2) == 2 * 16 * 4 * 4);
  layout.element = Element::Bf16;
  CHECK(layout.bytes(2) == 2 * 16 * 4 * 2);
  std::vector<float> plain(12), back(12);
  for (std::size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<float>(i) - 3.5f;
  std::vector<Bf16> stored(64, Bf16{0x7FC0});
  to_stored(layout, 1, plain.data(), stored.data());
  to_plain(layout, 1, stored.data(), back.data());
  CHECK(back == plain);                     // values of few bits, which bf16 holds exactly
  CHECK(to_float(stored[16]) == plain[1]);  // the second pixel of channel 0
  CHECK(stored[3].bits == 0);
}

TEST_CASE("bf16: what overlapping windows of a pool give to a pixel is summed in f32", "[cpu]") {
  // All 24 x 24 windows cover the middle one of 47 x 47 pixels, and give it a 576th each.
  const PoolLoop loop{.in_height = 47,
                      .in_width = 47,
                      .out_height = 24,
                      .out_width = 24,
                      .kernel = {24, 24},
                      .stride = {1, 1},
                      .padding = {0, 0},
                      .after_relu = false};
  const std::vector<Bf16> dy(24 * 24 * 16, from_float<Bf16>(1));
  for (const auto& [name, loops] : element_loops_here()) {
    INFO(name);
    std::vector<Bf16> dx(47 * 47 * 16);
    loops->avg_pool_backward(loop, dy.data(), dx.data());
    for (std::size_t lane = 0; lane < 16; ++lane)
      CHECK(to_float(dx[(23 * 47 + 23) * 16 + lane]) == 1);
    CHECK(to_float(dx[0]) == to_float(from_float<Bf16>(1.0F / 576)));
  }
}
