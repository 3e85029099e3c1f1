"""scripts/check tidy where git does not work; scripts/check-outputs --help.

  PIPETRAIN_SOURCE=. python3 tests/cli/check_scripts_test.py
"""
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(os.environ["PIPETRAIN_SOURCE"]).resolve() / "scripts"
LOGS = '#!/bin/sh\necho "${0##*/} $*" >> "$CALLS"\n'
WORKING_GIT = """#!/bin/sh
case "$1" in diff) echo src/changed.cpp; echo src/changed.txt ;; *) echo 1 ;; esac
"""
BROKEN_GIT = """#!/bin/sh
echo "fatal: detected dubious ownership in repository" >&2
exit 128
"""


class Checks(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = Path(folder.name).resolve()
        self.calls = self.here / "calls"
        self.environment = {**os.environ, "CALLS": str(self.calls), "PATH": f"{self.here}/bin:{os.environ['PATH']}"}
        self.environment.pop("PIPETRAIN_CHECK_PYTHON", None)
        for name in ("check", "check-outputs"):
            self.make(f"checkout/scripts/{name}", (SCRIPTS / name).read_text())
        for name in ("checkout/scripts/build", "bin/clang-tidy", "bin/g++", "bin/python3"):
            self.make(name, LOGS)

    def make(self, name: str, text: str) -> None:
        file = self.here / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)

    def ran(self, script: str, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.here / "checkout/scripts" / script, *arguments], env=self.environment,
                              capture_output=True, text=True, timeout=60)

    def called(self) -> str:
        return self.calls.read_text() if self.calls.exists() else ""

    def test_tidy_reads_what_git_names(self) -> None:
        self.make("bin/git", WORKING_GIT)
        ran = self.ran("check", "tidy")
        self.assertEqual((ran.returncode, ran.stdout), (0, "passed: tidy; failed: none; skipped: none\n"))
        self.assertRegex(self.called(), "(?m)^clang-tidy .* src/changed.cpp$")
        self.assertNotIn("changed.txt", self.called())

    def test_tidy_is_skipped_where_git_does_not_work(self) -> None:
        self.make("bin/git", BROKEN_GIT)
        ran = self.ran("check", "tidy")
        self.assertEqual((ran.returncode, ran.stdout), (0, "passed: none; failed: none; skipped: tidy\n"))
        self.assertIn("fatal: detected dubious ownership in repository\n"
                      "check: without git it is unknown which files changed, so this check is skipped", ran.stderr)
        self.assertEqual(self.called(), "")

    def test_help_of_check_outputs_installs_and_builds_nothing(self) -> None:
        for arguments in (["--help"], ["-h"], ["--keep", "runs", "--help"]):
            ran = self.ran("check-outputs", *arguments)
            self.assertEqual((ran.returncode, ran.stderr, self.called()), (0, "", ""))
            self.assertTrue(ran.stdout.startswith("Checks that other tools can open the files of a run"))
            self.assertIn("  scripts/check-outputs [--pipetrain BUILD-FOLDER]", ran.stdout)
            self.assertNotIn("set -euo", ran.stdout)


if __name__ == "__main__":
    unittest.main()
