// Contains("text") for strings: Catch2's version 3 gave the matcher another name.
#pragma once

#include "catch.hpp"

#ifdef CATCH_V3
inline auto Contains(const std::string& text) { return Catch::Matchers::ContainsSubstring(text); }
#else
using Catch::Matchers::Contains;
#endif
