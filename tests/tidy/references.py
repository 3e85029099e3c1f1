"""What a file may refer to: headings that are there, and nothing outside the checkout but extras."""
import re
from functools import lru_cache
from pathlib import Path
from typing import Iterator

LINK = re.compile(r"\]\(([^)\s]*#[^)\s]+)\)")
OUTSIDE = "../" "shared"  # in two halves, so that this file passes its own rule
KNOWS_EXTRAS = {"scripts/places.py", "tests/places.cpp", "docs/hacking.md"}


def anchor(heading: str) -> str:
    """GitHub's, of a heading: lower case, words joined by dashes, no punctuation."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().lower())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@lru_cache(maxsize=None)
def anchors(page: Path, text: str) -> set[str]:
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return {anchor(heading) for heading in re.findall(r"^#+ (.*)$", prose, re.M)}


def broken_anchors(root: Path, name: str, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    if not name.endswith(".md"):
        return
    fenced = False
    for number, line in enumerate(lines, 1):
        fenced ^= line.lstrip().startswith("```")
        for target in [] if fenced else LINK.findall(re.sub(r"`[^`]*`", "", line)):
            file, heading = target.split("#", 1)
            page = ((root / name).parent / file).resolve() if file else root / name
            if "://" in target or page.suffix != ".md" or not page.is_file():
                continue
            if heading not in anchors(page, page.read_text(encoding="utf-8")):
                yield number, "anchor", f"{file or 'this page'} has no heading #{heading}; correct the link"


def outside(name: str, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    if name in KNOWS_EXTRAS:
        return
    for number, line in enumerate(lines, 1):
        if OUTSIDE in line:
            yield number, "outside", "look for data sets and extras by scripts/places.py or tests/places.hpp: docs/hacking.md, Extras"


def references(root: Path, name: str, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    """Line, rule and advice of each finding."""
    yield from broken_anchors(root, name, lines)
    yield from outside(name, lines)
