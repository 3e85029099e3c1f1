"""C++ that a page shows is formatted as the sources are, so that who copies it passes scripts/check format.

  python3 -B tests/tidy/samples_test.py

A row of the table of schedules is tried in its place, any other sample as a file of its own.
"""
import re
import shutil
import subprocess
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
TABLE = SOURCE / "src/schedules.cpp"
ROW = "    Schedule{"


def samples() -> list[tuple[str, str]]:
    pages = sorted((SOURCE / "docs").rglob("*.md"))
    return [(page.name, sample) for page in pages for sample in re.findall(r"^```cpp\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)]


def in_its_place(sample: str) -> str:
    """The table of schedules with the row before its first one, or the sample alone."""
    table = TABLE.read_text(encoding="utf-8")
    if not sample.startswith(ROW):
        return sample
    return table if sample in table else table.replace(ROW, sample + ROW, 1)


def formatted(text: str) -> str:
    command = ["clang-format", f"--assume-filename={TABLE}"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


class Samples(unittest.TestCase):
    def test_pages_have_samples_of_files_and_of_rows(self) -> None:
        rows = [sample.startswith(ROW) for _, sample in samples()]
        self.assertTrue(any(rows) and not all(rows))

    def test_samples_are_formatted(self) -> None:
        if not shutil.which("clang-format"):
            print("case skipped: samples are formatted: no clang-format here")
            self.skipTest("no clang-format here")
        for page, sample in samples():
            with self.subTest(page=page, sample=sample.splitlines()[0]):
                text = in_its_place(sample)
                self.assertEqual(text, formatted(text))


if __name__ == "__main__":
    unittest.main()
