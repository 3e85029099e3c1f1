"""scripts/sweep from outside: a tiny grid with a failing point, the same again, a stopped one, slips in a grid.

  PIPETRAIN_SOURCE=. PIPETRAIN_BINARY=build/pipetrain python3 tests/cli/sweep_test.py
"""
import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SOURCE = Path(os.environ["PIPETRAIN_SOURCE"]).resolve()
sys.path.insert(0, str(SOURCE / "scripts"))
from sweep_grid import GridError, read_grid  # noqa: E402
from sweep_plot import have_matplotlib  # noqa: E402

CONFIG = f"""
[model]
file = "{SOURCE}/models/mlp.toml"
[data]
kind = "glyphs"
train_samples = 64
validation_samples = 16
batch_size = 16
[training]
epochs = 1
[validation]
every_epochs = 1
"""
GRID = """
config = "tiny.toml"
[set]
pipeline.stages = 2
[grid]
"optimizer.lr" = [0.01, 0.1]
"pipeline.microbatches" = [2, 3]  # 3 does not divide 16
"""


class Sweep(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "tiny.toml").write_text(CONFIG)

    def grid(self, text: str) -> Path:
        (self.folder / "grid.toml").write_text(text)
        return self.folder / "grid.toml"

    def command(self, text: str, *options: str) -> list[str]:
        return [str(SOURCE / "scripts" / "sweep"), str(self.grid(text)), "--output", str(self.folder / "out"), *options]

    def sweep(self, text: str, *options: str) -> subprocess.CompletedProcess:
        return subprocess.run(self.command(text, *options), capture_output=True, text=True, cwd=self.folder)

    def rows(self) -> dict[str, dict[str, str]]:
        with open(self.folder / "out" / "results.csv", newline="") as table:
            return {row["point"]: row for row in csv.DictReader(table)}

    def test_a_point_that_fails_is_named_and_the_others_go_on(self) -> None:
        ran = self.sweep(GRID, "--no-plot")
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        rows = self.rows()
        self.assertEqual(list(rows), ["lr=0.01,microbatches=2", "lr=0.01,microbatches=3",
                                      "lr=0.1,microbatches=2", "lr=0.1,microbatches=3"])
        for name, row in rows.items():
            if name.endswith("2"):
                self.assertEqual((row["status"], row["exit_code"], row["steps"]), ("finished", "0", "4"))
                self.assertTrue(0 <= float(row["accuracy"]) <= 1 and 0 <= float(row["bubble"]) <= 1)
                self.assertGreater(float(row["loss"]), 0)
                self.assertTrue((self.folder / "out" / name / "model.safetensors").is_file())
            else:
                self.assertEqual((row["status"], row["exit_code"], row["loss"]), ("failed", "2", ""))
                self.assertIn("microbatches", row["message"])
                self.assertIn(f"failed: {name}, exit code 2: ", ran.stdout)
        self.assertIn("2 points finished, 2 failed", ran.stdout)

    def test_the_same_command_again_leaves_what_has_finished(self) -> None:
        grid = GRID.replace("[2, 3]", "[1, 2]")
        self.assertEqual(self.sweep(grid, "--no-plot").returncode, 0)
        rows = self.rows()
        files = sorted((self.folder / "out").glob("*/*"))
        before = [(file.stat().st_mtime_ns, file.stat().st_ino) for file in files]
        self.assertEqual(self.sweep(grid, "--no-plot").returncode, 0)
        self.assertEqual([(file.stat().st_mtime_ns, file.stat().st_ino) for file in files], before)
        self.assertEqual(self.rows(), rows)

    def test_stopped_it_says_how_to_go_on(self) -> None:
        grid = 'config = "tiny.toml"\n[set]\n"training.epochs" = 1000000\n[grid]\n"training.seed" = [1, 2]\n'
        process = subprocess.Popen(self.command(grid), stdout=subprocess.PIPE, text=True, cwd=self.folder)
        metrics = self.folder / "out" / "seed=1" / "metrics.jsonl"
        deadline = time.monotonic() + 120
        while not (metrics.is_file() and '"step"' in metrics.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGINT, out)
        self.assertIn("to go on: scripts/sweep", out)
        self.assertEqual([row["status"] for row in self.rows().values()], ["stopped", "not run"])

    def test_a_plot(self) -> None:
        if not have_matplotlib(str(SOURCE / ".venv" / "bin" / "python")):
            self.skipTest("no matplotlib in .venv")
        self.assertEqual(self.sweep(GRID).returncode, 1)
        self.assertEqual((self.folder / "out" / "results.png").read_bytes()[:4], b"\x89PNG")

    def test_a_key_that_no_config_has_stops_before_anything_runs(self) -> None:
        ran = self.sweep('config = "tiny.toml"\n[grid]\n"optimizer.learning" = [1]\n')
        self.assertEqual(ran.returncode, 2)
        self.assertIn("unknown key optimizer.learning", ran.stderr)
        self.assertFalse((self.folder / "out").exists())

    def test_slips_in_a_grid(self) -> None:
        for text, words in [("", "config is missing"), ('config = "a"\n', "no point to train"),
                            ('config = "a"\ngrids = 1\n', "unknown key grids"), ("config = ", "no valid TOML"),
                            ('config = "a"\n[grid]\n"optimizer.lr" = 0.1\n', "optimizer.lr is no list"),
                            ('config = "a"\n[set]\na.b = 1\n[grid]\na.b = [1]\n', "a.b stands in set and"),
                            ('config = "a"\n[[points]]\na = 1\n[[points]]\na = 1\n', "is there twice"),
                            ('config = "a"\n[grid]\na = [1979-05-27]\n', "no value of a config")]:
            with self.assertRaises(GridError) as error:
                read_grid(self.grid(text))
            self.assertIn(words, str(error.exception))

    def test_points_have_names_that_folders_can_have(self) -> None:
        grid = read_grid(self.grid("""
config = "a"
[grid]
"data.kind" = ["npy"]
optimizer.kind = ["sgd"]
"pipeline.split" = [["conv2", "fc1"], "auto"]
"model.file" = ["../models/x y.toml"]
"""))
        self.assertEqual([point.name for point in grid.points],
                         ["data.kind=npy,optimizer.kind=sgd,split=conv2+fc1,file=x-y",
                          "data.kind=npy,optimizer.kind=sgd,split=auto,file=x-y"])
        self.assertEqual(grid.options(grid.points[0])[-3:], ['pipeline.split=["conv2", "fc1"]', "--set",
                                                            'model.file="../models/x y.toml"'])


if __name__ == "__main__":
    unittest.main()
