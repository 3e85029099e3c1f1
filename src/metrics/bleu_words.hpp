// The words that BLEU counts: the tokenizer 13a of sacrebleu, which is that of NIST's mteval-v13a.
// Not related to what a model reads: BLEU compares texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipetrain {

// Of a sentence in UTF-8 (bytes that are none count as letters). White space is Unicode's, as in
// Python's str.split. In this order:
//   1. White space at the end goes, and every "<skipped>"; a hyphen before a line's end goes with
//      it; other ends of lines become blanks; &quot; &amp; &lt; &gt; become what they stand for,
//      one kind after the other (so &amp;lt; becomes <).
//   2. Every ASCII sign but ' , - . becomes a word of its own.
//   3. So do full stops and commas, but between two digits; and a hyphen after a digit.
std::vector<std::string> words_13a(std::string_view sentence);

}  // namespace pipetrain
