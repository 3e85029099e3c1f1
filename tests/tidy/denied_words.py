# Words that the project does not use: docs/glossary.md has the one list of them, a table of the words,
# the phrases in which they are allowed, and what to write instead.
import re
from pathlib import Path
from typing import Iterator, NamedTuple

PAGE = "docs/glossary.md"
SECTION = "## Words that are not used"
QUOTED = re.compile(r"`([^`]+)`")
WORD = re.compile(r"\w+")
COMMENT = re.compile(r"^\s*(?://|#|\*|>|- )?\s*")


class DeniedWord(NamedTuple):
    firsts: set[str]  # the first words of its phrases: a line with none of them has no match
    pattern: re.Pattern[str]
    instead: str


def section(page: list[str]) -> range:
    """The lines of the page that hold the list, from 0; empty if there is none."""
    if SECTION not in page:
        return range(0)
    first = page.index(SECTION)
    ends = (at for at in range(first + 1, len(page)) if page[at].startswith("## "))
    return range(first, next(ends, len(page)))


def denied_words(root: Path) -> list[DeniedWord]:
    path = root / PAGE
    page = path.read_text(encoding="utf-8").split("\n") if path.is_file() else []
    rows = [page[at].split("|")[1:-1] for at in section(page) if page[at].startswith("| `")]
    return [DeniedWord(first_words(words), pattern(words), instead.strip()) for words, instead in rows]


def first_words(cell: str) -> set[str]:
    return {phrase.split()[0].lower() for phrase in QUOTED.findall(cell.partition(" except ")[0])}


def pattern(cell: str) -> re.Pattern[str]:
    """For "`a`, `b` except `a for`": any of the words as a whole, but not in an exception."""
    words, _, exceptions = cell.partition(" except ")
    allowed = "".join(rf"(?!{whole(phrase)})" for phrase in QUOTED.findall(exceptions))
    return re.compile(rf"{allowed}(?:{'|'.join(map(whole, QUOTED.findall(words)))})", re.IGNORECASE)


def whole(phrase: str) -> str:
    return r"(?<![\w-])" + r"\s+".join(map(re.escape, phrase.split())) + r"(?![\w-])"


def find(name: str, lines: list[str], denied: list[DeniedWord]) -> Iterator[tuple[int, str]]:
    """Line and advice of each denied word; one that a line's end divides is found too."""
    skipped = section(lines) if name == PAGE else range(0)
    firsts = set().union(*(word.firsts for word in denied))
    for at, line in enumerate(lines):
        if at in skipped or firsts.isdisjoint(WORD.findall(line.lower())):
            continue
        after = COMMENT.sub("", lines[at + 1]) if at + 1 < len(lines) else ""
        text = f"{line} {after}"
        for word in denied:
            for match in word.pattern.finditer(text):
                if match.start() < len(line):
                    yield at + 1, f'"{match[0]}" is in the list of {PAGE}; write: {word.instead}'
