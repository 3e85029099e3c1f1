"""The documentation's figures and printed schedules are what the binary makes; and scripts/draw-figures notices one that is not.

  PIPETRAIN_SOURCE=. PIPETRAIN_BINARY=build/pipetrain python3 tests/cli/figures_test.py
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BINARY = (Path(os.environ[name]).resolve() for name in ("PIPETRAIN_SOURCE", "PIPETRAIN_BINARY"))
FIGURE = "docs/methods/figures/gpipe.svg"
COMMAND = "$ pipetrain schedule gpipe --stages 2 --microbatches 2"
PAGE = f"""# A page

![gpipe](methods/figures/gpipe.svg)

```
{COMMAND} --format svg > {FIGURE}
{COMMAND} --summary
schedule
```
"""


def draw(root: Path, *options: str):
    return subprocess.run([sys.executable, "-B", root / "scripts/draw-figures", *options], capture_output=True, text=True,
                          env=os.environ | {"PIPETRAIN_BINARY": str(BINARY)})


class Figures(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in ("scripts", "docs"):
            (self.root / name).mkdir()
        shutil.copy(SOURCE / "scripts/draw-figures", self.root / "scripts")
        (self.root / "README.md").write_text("# Nothing to draw\n")
        self.page = self.root / "docs/page.md"
        self.page.write_text(PAGE)

    def assert_stale(self, name: str) -> None:
        checked = draw(self.root, "--check")
        self.assertEqual(checked.returncode, 1, checked.stdout + checked.stderr)
        self.assertIn(name, checked.stdout)

    def test_the_documentation_is_current(self) -> None:
        checked = draw(SOURCE, "--check")
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_a_page_is_drawn_once(self) -> None:
        self.assert_stale(FIGURE)
        self.assertFalse((self.root / FIGURE).exists())
        self.assertEqual(draw(self.root).returncode, 0)
        self.assertIn("peak weight versions", self.page.read_text())
        self.assertTrue((self.root / FIGURE).read_text().startswith("<svg"))
        checked = draw(self.root, "--check")
        self.assertEqual((checked.returncode, checked.stdout), (0, "1 figures, 1 printed schedules\n"))

    def test_what_changed_is_named(self) -> None:
        draw(self.root)
        (self.root / FIGURE).write_text("<svg></svg>\n")
        self.assert_stale(FIGURE)
        draw(self.root)
        self.page.write_text(self.page.read_text().replace("0.3333", "0.3334"))
        self.assert_stale("docs/page.md")

    def test_a_figure_that_no_page_makes_is_named(self) -> None:
        draw(self.root)
        (self.root / FIGURE).with_name("old.svg").write_text("<svg></svg>\n")
        self.assert_stale("docs/methods/figures/old.svg")

    def test_a_command_that_is_refused_is_an_error(self) -> None:
        self.page.write_text(PAGE.replace("gpipe --stages", "banana --stages"))
        drawn = draw(self.root)
        self.assertEqual(drawn.returncode, 1)
        self.assertIn("banana", drawn.stderr)


if __name__ == "__main__":
    unittest.main()
