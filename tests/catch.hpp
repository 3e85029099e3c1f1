// Catch2, version 2 (Debian 12) or 3.
#pragma once
#ifdef CATCH_V3
#include <catch2/catch_all.hpp>
using Catch::Approx;
inline auto Contains(const std::string& text) { return Catch::Matchers::ContainsSubstring(text); }
#else
#include <catch2/catch.hpp>
using Catch::Matchers::Contains;  // of a string
#endif
