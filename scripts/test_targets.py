"""What ninja must build for the given tests, from what Meson has written down about them (scripts/test).

  test_targets.py BUILD-FOLDER NAME...

Prints the targets on one line. A name that no test has is refused, with a list of the tests.
"""
import difflib
import json
import sys
from pathlib import Path
from typing import Any

USAGE = 2


def read(folder: Path, what: str) -> list[dict[str, Any]]:
    return json.loads((folder / "meson-info" / f"intro-{what}.json").read_text(encoding="utf-8"))


def main() -> int:
    folder, names = Path(sys.argv[1]).resolve(), sys.argv[2:]
    needs = {test["name"]: test["depends"] for test in read(folder, "tests")}
    unknown = [name for name in names if name not in needs]
    for name in unknown:
        near = difflib.get_close_matches(name, needs, 1)
        print(f"test: there is no test {name}" + (f"; did you mean {near[0]}?" if near else ""), file=sys.stderr)
    if unknown:
        print("test: the names are " + " ".join(sorted(needs)), file=sys.stderr)
        return USAGE
    wanted = {target for name in names for target in needs[name]}
    files = [Path(file) for target in read(folder, "targets") if target["id"] in wanted for file in target["filename"]]
    print(*sorted(str(file.relative_to(folder)) for file in files))
    return 0


if __name__ == "__main__":
    sys.exit(main())
