// Found by fuzzing: `shape = [1, ν]` took the TOML library to a point that it takes to be
// unreachable.
#include "base/toml_text.hpp"

#include "catch.hpp"

using namespace pipetrain;

namespace {

std::string found(const std::string& toml) {
  const auto stray = stray_character(toml);
  if (!stray) return "";
  return std::to_string(stray->line) + ":" + std::to_string(stray->column) + " " + stray->text;
}

}  // namespace

TEST_CASE("a character beyond ASCII outside quotes and comments is found at its place") {
  CHECK(found("a = 1\nshape = [1, ν]") == "2:13 ν");
  CHECK(found("é = 1") == "1:1 é");
  CHECK(found("a = \"é\"\u00A0") == "1:8 \u00A0");  // not a plain blank
  CHECK(found("a = 'x\\' ν") == "1:10 ν");          // no escapes between single quotes
  CHECK(found("a = \"x\\\" ν\" ν") == "1:13 ν");
  CHECK(found("a = \"\"\"x\"\"\"\"\" ν") == "1:15 ν");
  CHECK(found("a = 1\n\xCE") == "2:1 \xCE");    // a broken character
  CHECK(found("a = 5'6ϓ'") == "1:8 ϓ");         // after a bare word a quote opens nothing
  CHECK(found("a = 6x='5ϓ''5ϓ'") == "1:10 ϓ");  // nor within a value that began without one
  CHECK(found("a = [6x='5ϓ']") == "1:11 ϓ");
  CHECK(found("a = { b = 6 'ϓ' }") == "1:14 ϓ");
  CHECK(found("a = 'x' 'ϓ'") == "1:10 ϓ");
}

TEST_CASE("inside quotes and comments every character is allowed") {
  CHECK(found("") == "");
  CHECK(found("a = 'é' # ν") == "");
  CHECK(found("a = \"\"\"é\n\\\"\"\"ν\n\"\"\" # ν\nb = '''\nν''ν'''") == "");
  CHECK(found("'é' = \"ü\"") == "");
  CHECK(found("\xEF\xBB\xBF"
              "a = 1") == "");  // a byte order mark
  CHECK(found("a = \"not closed ν\nb = 1") == "");
  CHECK(found("a = [ { b = 'é', c.'ü' = [1, 'ν'] },\n  # ϓ\n  { d = 'é' },\n]\n[x.'ü']\ne = 'ν'") ==
        "");
}
