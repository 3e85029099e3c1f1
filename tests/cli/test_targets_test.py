"""scripts/test_targets.py: what is built for a test, from what Meson wrote down.

  PIPETRAIN_SOURCE=. python3 tests/cli/test_targets_test.py
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(os.environ["PIPETRAIN_SOURCE"]).resolve() / "scripts" / "test_targets.py"


class Targets(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()
        (self.folder / "meson-info").mkdir()
        self.write("tests", [{"name": "cli", "depends": ["b", "p"]}, {"name": "base", "depends": ["q"]},
                             {"name": "tidy", "depends": []}])
        self.write("targets", [{"id": "p", "filename": [f"{self.folder}/pipetrain"]},
                               {"id": "b", "filename": [f"{self.folder}/tests/cli_test"]},
                               {"id": "q", "filename": [f"{self.folder}/tests/base_test"]}])

    def write(self, what: str, content: list) -> None:
        (self.folder / "meson-info" / f"intro-{what}.json").write_text(json.dumps(content))

    def ask(self, *names: str) -> subprocess.CompletedProcess:
        return subprocess.run([sys.executable, "-B", SCRIPT, self.folder, *names], capture_output=True, text=True)

    def test_a_name_is_its_program_and_what_that_runs(self) -> None:
        self.assertEqual(self.ask("cli").stdout, "pipetrain tests/cli_test\n")
        self.assertEqual(self.ask("base").stdout, "tests/base_test\n")
        self.assertEqual(self.ask("base", "cli").stdout, "pipetrain tests/base_test tests/cli_test\n")
        self.assertEqual(self.ask("tidy").stdout.strip(), "")

    def test_an_unknown_name_is_refused_with_those_that_there_are(self) -> None:
        ran = self.ask("base", "cly")
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertEqual(ran.stderr, "test: there is no test cly; did you mean cli?\ntest: the names are base cli tidy\n")


if __name__ == "__main__":
    unittest.main()
