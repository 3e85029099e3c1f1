"""The results of a test run, from the log that Meson keeps (scripts/test).

  test_counts.py BUILD-FOLDER/meson-logs/testlog.json

Test programs count their cases themselves (tests/catch_main.cpp), and so does Python's unittest; any other test
counts as one case. Prints one line for each skipped case and ends with "N passed, N failed, N skipped"; the exit
status is 1 if one failed or none ran.
"""
import json
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

CASES = re.compile(r"^cases: (\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)
UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\s+(?:OK|FAILED)(?: \((.*)\))?$", re.MULTILINE)
SKIPPED_CASE = re.compile(r"^case skipped: (.*)$", re.MULTILINE)


class Counts(NamedTuple):
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def counts_of(test: dict[str, Any]) -> Counts:
    """The counts of one test. If no case failed but the program ended badly (after its last case, or before it could
    count), that counts as one failure."""
    if test["result"] == "SKIP":
        return Counts(skipped=1)
    good = test["result"] in ("OK", "EXPECTEDFAIL")
    cases = cases_of(test)
    if not cases:
        return Counts(passed=int(good), failed=int(not good))
    return cases._replace(failed=cases.failed + (not good and cases.failed == 0))


def cases_of(test: dict[str, Any]) -> Counts | None:
    """The test's own counts; none if it did not count."""
    if found := CASES.findall(test.get("stdout") or ""):
        return Counts(*map(int, found[-1]))
    if found := UNITTEST.findall(test.get("stderr") or ""):
        ran, details = found[-1]
        amounts = {name: int(amount) for name, amount in re.findall(r"(\w+)=(\d+)", details)}
        failed, skipped = amounts.get("failures", 0) + amounts.get("errors", 0), amounts.get("skipped", 0)
        return Counts(int(ran) - failed - skipped, failed, skipped)
    return None


def skips_of(test: dict[str, Any]) -> list[str]:
    if test["result"] == "SKIP":
        return [f"skipped: {test['name']}: {(test.get('stdout') or '').strip()}"]
    return [f"skipped: {test['name']}: {case}" for case in SKIPPED_CASE.findall(test.get("stdout") or "")]


def main() -> int:
    log = Path(sys.argv[1])
    tests = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []
    for test in tests:
        print(*skips_of(test), sep="\n", end="\n" if skips_of(test) else "")
    total = Counts(*map(sum, zip(*map(counts_of, tests)))) if tests else Counts()
    print(total)
    return int(total.failed > 0 or not tests)


if __name__ == "__main__":
    sys.exit(main())
