"""scripts/test_counts.py: passed, failed and skipped, cases and other tests.

  PIPETRAIN_SOURCE=. python3 tests/cli/test_counts_test.py
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(os.environ["PIPETRAIN_SOURCE"]).resolve() / "scripts" / "test_counts.py"


def program(result: str, counts: str, *skipped: str) -> dict:
    lines = ["All tests passed", *[f"case skipped: {case}" for case in skipped], f"cases: {counts}", ""]
    return {"name": "base", "result": result, "stdout": "\n".join(lines)}


class Counts(unittest.TestCase):
    def count(self, *tests: dict) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "testlog.json"
            log.write_text("".join(json.dumps(test) + "\n" for test in tests))
            return subprocess.run([sys.executable, "-B", SCRIPT, log], capture_output=True, text=True)

    def last(self, *tests: dict) -> tuple[int, str]:
        ran = self.count(*tests)
        return ran.returncode, ran.stdout.splitlines()[-1]

    def test_a_program_counts_its_cases_another_test_is_one(self) -> None:
        self.assertEqual(self.last(program("OK", "7 passed, 0 failed, 0 skipped"), {"name": "tidy", "result": "OK"}),
                         (0, "8 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.last(program("FAIL", "7 passed, 2 failed, 0 skipped"), {"name": "tidy", "result": "FAIL"}),
                         (1, "7 passed, 3 failed, 0 skipped"))

    def test_a_case_that_skipped_is_named_and_no_pass(self) -> None:
        ran = self.count(program("OK", "3 passed, 0 failed, 1 skipped", "a terminal: skipped: there is none"))
        self.assertEqual((ran.returncode, ran.stdout.splitlines()),
                         (0, ["skipped: base: a terminal: skipped: there is none", "3 passed, 0 failed, 1 skipped"]))

    def test_a_whole_test_that_skipped_says_why(self) -> None:
        ran = self.count({"name": "on_gpu", "result": "SKIP", "stdout": "skipped: there is no GPU\n"},
                         {"name": "tidy", "result": "OK"})
        self.assertEqual((ran.returncode, ran.stdout.splitlines()),
                         (0, ["skipped: on_gpu: skipped: there is no GPU", "1 passed, 0 failed, 1 skipped"]))

    def test_a_program_that_ends_badly_has_failed_whatever_its_cases_say(self) -> None:
        self.assertEqual(self.last(program("FAIL", "7 passed, 0 failed, 0 skipped")), (1, "7 passed, 1 failed, 0 skipped"))
        for result in ("FAIL", "TIMEOUT", "ERROR", "INTERRUPT"):
            self.assertEqual(self.last({"name": "base", "result": result, "stdout": "crash"}),
                             (1, "0 passed, 1 failed, 0 skipped"))

    def test_unittest_counts_too(self) -> None:
        def script(result: str, end: str) -> dict:
            return {"name": "sweep", "result": result, "stderr": f"....\n---\nRan 9 tests in 0.1s\n\n{end}\n"}

        self.assertEqual(self.last(script("OK", "OK")), (0, "9 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.last(script("OK", "OK (skipped=1)")), (0, "8 passed, 0 failed, 1 skipped"))
        self.assertEqual(self.last(script("FAIL", "FAILED (failures=1, errors=2, skipped=3)")),
                         (1, "3 passed, 3 failed, 3 skipped"))

    def test_no_test_at_all_is_a_failure(self) -> None:
        self.assertEqual(self.last(), (1, "0 passed, 0 failed, 0 skipped"))
        ran = subprocess.run([sys.executable, "-B", SCRIPT, "no-such-file"], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout), (1, "0 passed, 0 failed, 0 skipped\n"))


if __name__ == "__main__":
    unittest.main()
