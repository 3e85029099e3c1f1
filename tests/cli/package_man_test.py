"""scripts/package_man.py: the man page has every exit code of docs/errors.md.

  PIPETRAIN_SOURCE=. python3 tests/cli/package_man_test.py
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ["PIPETRAIN_SOURCE"]).resolve()
BINARY = """#!/bin/sh
case $1 in --version) echo "pipetrain 1.2.3";; *) echo "  pipetrain train   trains a model";; esac
"""


class ManPage(unittest.TestCase):
    def test_it_has_every_exit_code(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            binary = Path(folder) / "pipetrain"
            binary.write_text(BINARY)
            binary.chmod(0o755)
            page = subprocess.run([sys.executable, "-B", ROOT / "scripts/package_man.py", binary], capture_output=True,
                                  text=True, check=True, timeout=60).stdout
        listed = re.search(r"^\.SH EXIT STATUS\n(.*?)^\.SH ", page, re.MULTILINE | re.DOTALL)
        errors = (ROOT / "docs/errors.md").read_text()
        section = re.search(r"^## Exit codes\n(.*?)^## ", errors, re.MULTILINE | re.DOTALL)
        documented = re.findall(r"^\| (\d\S*) \|", section[1], re.MULTILINE)
        self.assertIn("0", documented)
        self.assertEqual(re.findall(r"^\.B (.+)$", listed[1], re.MULTILINE), documented)


if __name__ == "__main__":
    unittest.main()
