"""Our BLEU and sacrebleu's on the same sentences. See scripts/check-bleu.

Compares, for the corpus and for each pair as a corpus of its own, the score, precisions, brevity penalty, counts and
lengths; and the words of each hypothesis. Sentences are strings of fragments that tokenizers stumble over, lines of
--text, and damaged versions of both. They are drawn from a fixed seed.
"""
import argparse
import gzip
import json
import pathlib
import random
import subprocess
import sys

from sacrebleu.metrics import BLEU

BOUND = 1e-9
FRAGMENTS = (
    "a man dog der Hund Zwei Männer stehen vor the of the the in 2 10 1999 3.14 1,000 5- -5 5-year-old 1990-2000 x-ray - -- "
    ". , ; : ! ? ... .. ,, ., 7., .5 5. ' '' it's \" ( ) [ ] { } < > / \\ | ~ ^ _ ` @ # $ % & * + = "
    "&quot; &amp; &lt; &gt; &amp;lt; &amp;amp; &nbsp; &quot <skipped> <skip „Größe“ ‚so‘ «là» … – — é. É, ß5 5ß 日本語。 日本. 一,二 "
    "😀 😀. 🏳️‍🌈 е́ ﬁ ½ ² ٣.٤ ٣- ³, -\n \n - -a a- .a a. a.b a,b 1.a a.1 1,a a,1 1.2.3 1-2-3 1--2 U.S. "
    "http://x.de/?a=1&b=2 e-mail@x.de 50% $5.00 C++ #1 AT&T").split(" ")
SPACES = [" "] * 12 + ["", "", "  ", "\t", "\u00a0", "\u2009", "\u3000", "\x1c", "\x85", "\u2028", "\u200b", "\n", "\r\n"]


def made(draw: random.Random) -> str:
    return "".join(draw.choice(FRAGMENTS) + draw.choice(SPACES) for _ in range(draw.randint(0, 25)))


def damaged(draw: random.Random, sentence: str) -> str:
    """Removes, doubles, swaps or distorts some words; now and then removes all of them, or changes nothing."""
    words = sentence.split(" ")
    fate = draw.random()
    if fate < 0.03:
        return ""
    if fate < 0.08:
        return sentence
    for _ in range(draw.randint(1, max(2, len(words) // 2))):
        at = draw.randrange(len(words)) if words else 0
        what = draw.randrange(5)
        if what == 0 and words:
            del words[at]
        elif what == 1 and words:
            words.insert(at, words[at])
        elif what == 2 and len(words) > 1:
            other = draw.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        elif what == 3:
            words.insert(at, draw.choice(FRAGMENTS))
        elif words:
            words[at] = words[at][::-1] if draw.random() < 0.5 else words[at] + draw.choice(FRAGMENTS)
    return " ".join(words)


def lines_of(path: pathlib.Path) -> list[str]:
    read = gzip.open if path.suffix == ".gz" else open
    with read(path, "rt", encoding="utf-8") as text:
        return text.read().split("\n")[:-1]


def described(score) -> dict:
    return {"score": score.score, "precisions": score.precisions, "bp": score.bp, "counts": score.counts,
            "totals": score.totals, "sys_len": score.sys_len, "ref_len": score.ref_len}


def flat(values: dict) -> list[float]:
    return [float(number) for value in values.values() for number in (value if isinstance(value, list) else [value])]


def difference(ours: dict, theirs: dict) -> float:
    return max(abs(a - b) for a, b in zip(flat({name: ours[name] for name in theirs}), flat(theirs), strict=True))


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description="compares BLEU with sacrebleu's")
    parser.add_argument("--pipetrain", type=pathlib.Path, default=root / "build", help="the build folder")
    parser.add_argument("--pairs", type=int, default=2000, help="made-up pairs")
    parser.add_argument("--text", type=pathlib.Path, nargs="*", default=[], help="files of sentences")
    given = parser.parse_args()

    draw = random.Random(20)
    references = [made(draw) for _ in range(given.pairs)]
    for path in given.text:
        references += lines_of(path)
    hypotheses = [damaged(draw, sentence) for sentence in references]
    runner = given.pipetrain / "tests/metrics/bleu_runner"
    asked = json.dumps({"hypotheses": hypotheses, "references": references})
    ours = json.loads(subprocess.run([runner], input=asked, capture_output=True, text=True, check=True).stdout)

    metric = BLEU()
    worst, wrong = 0.0, 0
    for i, (hypothesis, reference) in enumerate(zip(hypotheses, references)):
        theirs = described(metric.corpus_score([hypothesis], [[reference]]))
        apart = difference(ours["pairs"][i], theirs)
        worst = max(worst, apart)
        words = metric.tokenizer(hypothesis.rstrip()).split()
        if apart > BOUND or words != ours["pairs"][i]["words"]:
            wrong += 1
            if wrong <= 10:
                print(f"pair {i} does not agree: {hypothesis!r} for {reference!r}\n  ours   {ours['pairs'][i]}\n"
                      f"  theirs {theirs | {'words': words}}")
    theirs = described(metric.corpus_score(hypotheses, [references]))
    apart = difference(ours["corpus"], theirs)
    if apart > BOUND:
        print(f"the corpus does not agree\n  ours   {ours['corpus']}\n  theirs {theirs}")
    print(f"corpus of {len(references)} pairs: BLEU {ours['corpus']['score']:.4f} by us, {theirs['score']:.4f} by "
          f"sacrebleu ({metric.get_signature()}); differs by {apart:.1e}")
    print(f"{len(references) - wrong} pairs agree, {wrong} do not; the largest difference of a number is {worst:.1e}")
    return 1 if wrong or apart > BOUND else 0


if __name__ == "__main__":
    sys.exit(main())
