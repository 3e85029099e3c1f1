"""Holds the pages that newcomers read: README's length and commands, the index, the tables of schedules and verbs, the mistakes.

  PIPETRAIN_SOURCE=. PIPETRAIN_BINARY=build/pipetrain python3 tests/cli/pages_test.py
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE, BINARY = (Path(os.environ[name]).resolve() for name in ("PIPETRAIN_SOURCE", "PIPETRAIN_BINARY"))
README_LINES_MAX = 75  # a screen, two figures and a run


def read(name: str) -> str:
    return (SOURCE / name).read_text(encoding="utf-8")


def run(*arguments: str, **options):
    return subprocess.run([BINARY, *arguments], capture_output=True, text=True, **options)


def pages() -> list[Path]:
    return [page for page in sorted((SOURCE / "docs").rglob("*.md")) if page.name != "README.md"]


class Pages(unittest.TestCase):
    def test_readme_is_short(self) -> None:
        self.assertLessEqual(len(read("README.md").splitlines()), README_LINES_MAX)

    def test_readme_names_scripts_and_configs_that_are_there(self) -> None:
        named = re.findall(r"\b(?:scripts|configs)/[\w./-]*\w", read("README.md") + read("docs/start.md"))
        self.assertIn("configs/quickstart.toml", named)
        self.assertEqual([name for name in named if not (SOURCE / name).exists()], [])

    def test_the_named_row_is_one_of_the_comparison(self) -> None:
        (row,) = re.findall(r'--only "([^"]+)"', read("README.md"))
        rows = subprocess.run([sys.executable, "-B", SOURCE / "scripts/compare-pytorch", "--list"], capture_output=True, text=True)
        self.assertIn(row, rows.stdout.splitlines())

    def test_the_index_has_every_page(self) -> None:
        index = SOURCE / "docs/README.md"
        linked = {(index.parent / target.split("#")[0]).resolve() for target in re.findall(r"\]\(([^)]+)\)", read("docs/README.md"))}
        self.assertEqual([page.name for page in pages() if page.resolve() not in linked], [])

    def test_a_page_begins_with_its_purpose_and_its_reader(self) -> None:
        beginnings = {page: read(str(page)).split("\n## ")[0] for page in sorted((SOURCE / "docs").glob("*.md"))}
        self.assertEqual([page.name for page, text in beginnings.items() if not re.search(r"\bfor (anyone|those)\b", text, re.I)], [])

    def test_schedules_are_those_of_the_binary(self) -> None:
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in read("docs/schedules.md").splitlines()
                 if line.startswith("| [`")]
        page = [[re.match(r"\[`(\w+)`\]", row[0])[1], *row[1:]] for row in cells]
        binary = [[row["name"], row["summary"], row["source"]] for row in json.loads(run("methods", "--json").stdout)]
        self.assertEqual(page, binary)

    def test_readme_counts_the_schedules(self) -> None:
        numbers = {15: "Fifteen", 16: "Sixteen", 17: "Seventeen", 18: "Eighteen", 19: "Nineteen", 20: "Twenty"}
        self.assertIn(f"{numbers[len(json.loads(run('methods', '--json').stdout))]} published schedules", read("README.md"))

    def test_verbs_are_those_of_the_binary(self) -> None:
        table = [line for line in read("docs/verbs.md").splitlines() if line.startswith("| `") and "pipetrain" not in line]
        page = {word for line in table for word in re.findall(r"`([a-z]+)", line.split("|")[1])}
        binary = set(re.findall(r"^  pipetrain (\w+)", run("--help").stdout, re.M))
        self.assertEqual(page, binary)

    def test_mistakes_are_reported_as_the_page_says(self) -> None:
        config = re.search(r"```toml\n(.*?)```", read("docs/config.md"), re.S)[1]
        said = re.search(r"```\n(my\.toml:.*?)```", read("docs/config.md"), re.S)[1]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "my.toml").write_text(config.replace("batch_size", "batch_sise").replace('kind = "sgd"', 'kind = "adma"'))
            ran = run("train", "my.toml", cwd=folder)
        self.assertEqual((ran.returncode, ran.stderr), (2, said))


if __name__ == "__main__":
    unittest.main()
