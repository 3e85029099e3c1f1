// The words that BLEU counts: sacrebleu's tokenizer 13a, which is that of NIST's mteval-v13a.
// Unrelated to what a model reads: BLEU compares texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pipetrain {

// Splits a sentence in UTF-8 (bytes that are not valid count as letters). White space is Unicode's,
// as in Python's str.split. In this order:
//   1. White space at the end is removed, and so is every "<skipped>". A hyphen before a line's end
//      is removed with that; other line ends become blanks. &quot; &amp; &lt; &gt; are replaced by
//      what they stand for, one kind after another (so &amp;lt; becomes <).
//   2. Every ASCII sign but ' , - . becomes a word of its own.
//   3. So do full stops and commas, except between two digits; and a hyphen after a digit.
std::vector<std::string> words_13a(std::string_view sentence);

}  // namespace pipetrain
