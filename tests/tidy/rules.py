# The house rules as pure functions over a source tree: each yields findings that name the file, the
# line, the rule and what to do. Standard library only, no git: the tree may be an archive.
import re
from pathlib import Path
from typing import Iterator, NamedTuple

import denied_words
from include_table import ALLOWED, LIBRARIES, READ_THE_SYSTEM, SUITES
from references import references

LINES_MAX = 500
FILES_MAX = 60  # of a folder of src/
CODE = {".cpp", ".hpp", ".inl", ".cu", ".cuh", ".py"}
TEXT = CODE | {".md", ".toml", ".build", ".ini", ".supp", ".csv", ""}
PARTS = ["src", "tests", "scripts", ".ci", "meson", "docs", "configs", "models"]

# Spelled in two halves, so that this file passes its own rule.
LEFT_OPEN = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.~*-])/(home|root|work|Users)/\w|\b[A-Z]:\\Users\b")
PACKAGE_SOURCE = re.compile(r"--(extra-index-url|index-url|trusted-host|find-links)\b")
OPENING = re.compile(r"\b(?:std::ifstream|std::fstream|(?:fs|filesystem)::(?:exists|is_regular_file|is_directory)\()")
SCHEDULE_COMPARED = re.compile(r'\bschedule\s*[=!]=\s*"|(?<!\\)"\s*[=!]=\s*[\w.>()-]*\bschedule\b')
ROW_NAME = re.compile(r'\.name = "([^"]+)"')
# What runs a program need not know which schedule made it: what differs is in the row.
BLIND_TO_SCHEDULES = ("src/runtime/", "src/compile/", "src/stage/", "src/checkpoint/", "src/run/")
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')
LAYER_KINDS = "src/graph/layer_spec.hpp"  # holds the one list of them
LAYER_KIND = re.compile(r"\b(?:KIND|ELEMENTWISE)\((\w+)\)")
NAMES_NO_LAYER_KIND = ("src/plan/",)
LINK = re.compile(r"\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")


class Finding(NamedTuple):
    file: str
    line: int
    rule: str
    advice: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.advice}"


def files(root: Path) -> Iterator[Path]:
    """Every text file of the project: those at the top, then part by part."""
    found = [path for path in root.iterdir() if path.is_file()]
    for part in PARTS:
        found += [path for path in (root / part).rglob("*") if path.is_file()]
    return (path for path in sorted(found) if is_text(path))


def is_text(path: Path) -> bool:
    return path.suffix in TEXT and path.name != ".git" and "__pycache__" not in path.parts


def check(root: Path) -> list[Finding]:
    """Every finding in the tree."""
    findings = [*test_folders(root), *full_folders(root)]
    kinds = layer_kinds(root)
    names = schedule_names(root)
    denied = denied_words.denied_words(root)
    for path in files(root):
        name = path.relative_to(root).as_posix()
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        findings += size(name, lines)
        findings += opening(name, lines)
        findings += words(name, lines)
        findings += [Finding(name, line, "denied-word", advice) for line, advice in denied_words.find(name, lines, denied)]
        findings += file_opening(name, lines)
        findings += layer_kind(name, lines, kinds)
        findings += schedules(name, lines, names)
        findings += includes(root, name, lines)
        findings += links(root, name, lines)
        findings += [Finding(name, *found) for found in references(root, name, lines)]
    return findings


def size(name: str, lines: list[str]) -> Iterator[Finding]:
    if Path(name).suffix in CODE and len(lines) - 1 > LINES_MAX:
        yield Finding(name, len(lines) - 1, "file-size",
                      f"over {LINES_MAX} lines; split it, one idea a file")


def opening(name: str, lines: list[str]) -> Iterator[Finding]:
    suffix = Path(name).suffix
    script = lines[0].startswith("#!")
    if suffix in CODE - {".py"}:
        good = lines[0].startswith("// ") or opens_with_its_header(name, lines[0])
    elif suffix == ".py" or script:
        good = "".join(lines[script : script + 1]).startswith(("# ", '"""'))
    else:
        return
    if not good:
        yield Finding(name, 1 + script, "opening", "begin with a comment that says what the file is for")


def opens_with_its_header(name: str, line: str) -> bool:
    """x.cpp or x.cu may leave the word to x.hpp, and a test to the header that it tests."""
    path = Path(name)
    if path.stem.endswith("_test"):
        return line.startswith(f'#include "{path.parent.name}/')
    own = [f"{name.removeprefix('src/').removesuffix(path.suffix)}.hpp"] + [f"{path.stem}.hpp"] * name.startswith("tests/")
    return path.suffix in {".cpp", ".cu"} and line in [f'#include "{header}"' for header in own]


def words(name: str, lines: list[str]) -> Iterator[Finding]:
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            yield Finding(name, number, "tab", "indent with blanks")
        if line != line.rstrip():
            yield Finding(name, number, "trailing-blank", "cut the line's end")
        if LEFT_OPEN.search(line):
            yield Finding(name, number, "left-open", "do it now, or open an issue and take the word out")
        if MACHINE_PATH.search(line):
            yield Finding(name, number, "machine-path",
                          "name no folder of one machine; use a path relative to the project")
        if PACKAGE_SOURCE.search(line):
            yield Finding(name, number, "package-source",
                          "where packages come from is the machine's configuration, not the project's")
    if lines[-1] != "":
        yield Finding(name, len(lines), "last-line", "end the file with a newline")


def file_opening(name: str, lines: list[str]) -> Iterator[Finding]:
    if not name.startswith("src/") or name.startswith("src/base/") or name in READ_THE_SYSTEM:
        return
    for number, line in enumerate(lines, 1):
        if OPENING.search(line):
            yield Finding(name, number, "file-opening",
                          "read and look through base/input_file.hpp or base/open_regular.hpp: a pipe would hold it up")


def layer_kinds(root: Path) -> list[str]:
    """What the one list of layer kinds names."""
    header = root / LAYER_KINDS
    return LAYER_KIND.findall(header.read_text(encoding="utf-8")) if header.is_file() else []


def layer_kind(name: str, lines: list[str], kinds: list[str]) -> Iterator[Finding]:
    if not name.startswith(NAMES_NO_LAYER_KIND) or not kinds:
        return
    named = re.compile(rf"\b({'|'.join(kinds)})\b")
    for number, line in enumerate(lines, 1):
        if match := named.search(line):
            yield Finding(name, number, "layer-kind",
                          f"{match[1]} is known to src/graph/traits.hpp and to backends: ask their values (BackendCosts, traits_of)")


def schedule_names(root: Path) -> re.Pattern[str] | None:
    """A literal that is the name of a row of the table; none if there is no table."""
    table = root / "src/schedules.cpp"
    found = ROW_NAME.findall(table.read_text(encoding="utf-8")) if table.is_file() else []
    return re.compile(r'(?<!\\)"(?:' + "|".join(map(re.escape, found)) + r')"') if found else None


def schedules(name: str, lines: list[str], names: re.Pattern[str] | None) -> Iterator[Finding]:
    if not name.startswith("src/") or name.startswith("src/config/") or Path(name).suffix not in CODE:
        return
    blind = names if name.startswith(BLIND_TO_SCHEDULES) else None
    for number, line in enumerate(lines, 1):
        code = line.split("//")[0]
        if SCHEDULE_COMPARED.search(code) or (blind and blind.search(code)):
            yield Finding(name, number, "schedule-name",
                          "ask the schedule's row (src/schedules.hpp) for what differs, not for its name")


def part_of(name: str) -> str:
    """The row of the table for a path below src/: its folder, or the stem of a file at the top."""
    return name.split("/")[0] if "/" in name else Path(name).stem


def allowed(includer: str, included: str) -> bool:
    part, other = part_of(includer), part_of(included)
    if part == other:
        return same_backend(includer, included)
    return any(row in (other, included) for row in ALLOWED[part])


def same_backend(includer: str, included: str) -> bool:
    """Backends see the seam and themselves; only the factory, in backend/ itself, sees them all."""
    if part_of(includer) != "backend" or includer.count("/") == 1:
        return True
    return included.count("/") == 1 or included.split("/")[1] == includer.split("/")[1]


def includes(root: Path, name: str, lines: list[str]) -> Iterator[Finding]:
    if not name.startswith(("src/", "tests/")) or Path(name).suffix not in CODE - {".py"}:
        return
    here = name.removeprefix("src/")
    if name.startswith("src/") and part_of(here) not in ALLOWED:
        yield Finding(name, 1, "include-table", "a new part of src/: give it a row in tests/tidy/include_table.py")
        return
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        other = match[2]
        if match[1] == '"' and not resolves(root, name, other):
            yield Finding(name, number, "include-path", f'write "{other}" as its path from src/ or tests/, a library as <...>')
        elif name.startswith("src/") and match[1] == '"' and not allowed(here, other):
            yield Finding(name, number, "include-table",
                          f"{part_of(here)} may not see {other}; what may is in tests/tidy/include_table.py. "
                          "Move what both need down, or pass it in as a value")
        elif name.startswith("src/"):
            yield from libraries(name, number, other)


def resolves(root: Path, name: str, header: str) -> bool:
    """From src/ or tests/, or made there by Meson; a test may name its neighbours alone."""
    roots = [root / "src", root / "tests"]
    return is_generated(root / "src" / header) or any((top / header).is_file() for top in roots + [(root / name).parent] * name.startswith("tests/"))


def is_generated(header: Path) -> bool:
    """Meson makes it: the build file of its folder names it as an output."""
    build = header.parent / "meson.build"
    return build.is_file() and f"output: '{header.name}'" in build.read_text(encoding="utf-8")


def libraries(name: str, number: int, header: str) -> Iterator[Finding]:
    if header.startswith("toml++/") and name.endswith(".hpp"):
        yield Finding(name, number, "library", "toml++ is slow to compile: include it in the .cpp that parses")
    for prefix, parts in LIBRARIES.items():
        below = [f"src/{part}/" for part in parts] + [f"src/{part}.cpp" for part in parts]
        if header.startswith(prefix) and not name.startswith(tuple(below)):
            yield Finding(name, number, "library", f"only {', '.join(parts)} may include <{header}>; go through them")


def links(root: Path, name: str, lines: list[str]) -> Iterator[Finding]:
    if not name.endswith(".md"):
        return
    fenced = False
    for number, line in enumerate(lines, 1):
        fenced ^= line.lstrip().startswith("```")
        if fenced:
            continue
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            file = target.split("#")[0]
            if file and "://" not in file and not file.startswith("mailto:") and \
                    not ((root / name).parent / file).exists():
                yield Finding(name, number, "link", f"{file} does not exist; fix the link")


def test_folders(root: Path) -> Iterator[Finding]:
    for folder in sorted(path for path in (root / "tests").glob("*") if path.is_dir()):
        if folder.name not in SUITES and not (root / "src" / folder.name).is_dir() \
                and folder.name != "__pycache__":
            yield Finding(f"tests/{folder.name}", 1, "tests-mirror-src",
                          "name it after the folder of src/ that it tests, or add a suite to tests/tidy/include_table.py")


def full_folders(root: Path) -> Iterator[Finding]:
    """A folder is one subject: with more files than a reader looks through, it is several."""
    for folder in sorted(path for path in (root / "src").rglob("*") if path.is_dir()):
        count = sum(path.suffix in CODE for path in folder.iterdir())
        if count > FILES_MAX:
            yield Finding(folder.relative_to(root).as_posix(), 1, "folder-size",
                          f"{count} source files, over {FILES_MAX}; make rooms of it, one subject each")
