"""scripts/sweep from outside: a tiny grid with a failing point, the same again, a stopped one, slips in a grid.

  PIPETRAIN_SOURCE=. PIPETRAIN_BINARY=build/pipetrain python3 tests/cli/sweep_test.py
"""
import csv
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SOURCE = Path(os.environ["PIPETRAIN_SOURCE"]).resolve()
os.environ["PIPETRAIN_BINARY"] = str(Path(os.environ["PIPETRAIN_BINARY"]).resolve())  # scripts/sweep is called from elsewhere
sys.path.insert(0, str(SOURCE / "scripts"))
from sweep_grid import GridError, read_grid  # noqa: E402
from sweep_plot import have_matplotlib  # noqa: E402
from sweep_results import Target, seconds_to  # noqa: E402

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
pipeline.microbatches = 2
[grid]
"optimizer.lr" = [0.01, 0.1]
"pipeline.stages" = [2, 99]  # the model has fewer layers, which shows when it is read
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
        self.assertEqual(list(rows), ["lr=0.01,stages=2", "lr=0.01,stages=99", "lr=0.1,stages=2", "lr=0.1,stages=99"])
        for name, row in rows.items():
            if name.endswith("=2"):
                self.assertEqual((row["status"], row["exit_code"], row["steps"]), ("finished", "0", "4"))
                self.assertTrue(0 <= float(row["accuracy"]) <= 1 and 0 <= float(row["bubble"]) <= 1)
                self.assertGreater(float(row["loss"]), 0)
                self.assertTrue((self.folder / "out" / name / "model.safetensors").is_file())
            else:
                self.assertEqual((row["status"], row["exit_code"], row["loss"]), ("failed", "2", ""))
                self.assertIn("pipeline.stages is 99", row["message"])
                self.assertIn(f"failed: {name}, exit code 2: ", ran.stdout)
        self.assertIn("2 points finished, 2 failed", ran.stdout)
        self.assertIn("MiB, largest stage", ran.stdout)

    def test_seeds_are_taken_together(self) -> None:
        ran = self.sweep('config = "tiny.toml"\n[grid]\n"optimizer.lr" = [0.01, 0.1]\n', "--no-plot", "--seeds", "1,2,3",
                         "--target", "loss=1000")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        points = list(self.rows().values())
        self.assertEqual(len(points), 6)
        for row in points:
            self.assertTrue(0 < float(row["seconds_to_target"]) <= float(row["seconds"]) + 1)
            self.assertGreater(float(row["memory_mib"]), 0)
            self.assertEqual((float(row["weight_versions"]), float(row["staleness"])), (1, 0))
        with open(self.folder / "out" / "results-over-seeds.csv", newline="") as table:
            groups = list(csv.DictReader(table))
        self.assertEqual([(group["optimizer.lr"], group["seeds"]) for group in groups], [("0.01", "3"), ("0.1", "3")])
        losses = [float(row["loss"]) for row in points if row["optimizer.lr"] == "0.1"]
        self.assertAlmostEqual(float(groups[1]["loss_mean"]), statistics.fmean(losses))
        self.assertAlmostEqual(float(groups[1]["loss_deviation"]), statistics.stdev(losses))
        self.assertIn(f"{statistics.fmean(losses):.4g} ± {statistics.stdev(losses):.4g}", ran.stdout)
        self.assertIn("3/3", ran.stdout)

    def test_a_target_counts_training_until_the_first_validation_that_reaches_it(self) -> None:
        steps = [{"step": i, "step_seconds": 0.5} for i in range(1, 9)]
        validations = [{"step": 2, "accuracy": 0.8}, {"step": 4, "accuracy": 0.9}, {"step": 6, "accuracy": 0.95}]
        self.assertEqual(seconds_to(Target("accuracy", 0.9), steps, validations), 2.0)
        self.assertIsNone(seconds_to(Target("accuracy", 0.99), steps, validations))
        self.assertIsNone(seconds_to(Target("loss", 0.99), steps, validations))

    def test_slips_in_seeds_and_targets(self) -> None:
        seeds = 'config = "tiny.toml"\n[grid]\n"training.seed" = [1, 2]\n'
        for options, words in [(["--seeds", "1,2"], "write the seeds in one of them"), (["--seeds", "1,1"], "different"),
                               (["--target", "acuracy=1"], "accuracy"), (["--target", "loss=low"], "is no number"),
                               (["--target", "accuracy=95"], "--target accuracy=95: an accuracy is a share from 0 to 1; write accuracy=0.95")]:
            ran = self.sweep(seeds, *options)
            self.assertEqual(ran.returncode, 2, ran.stdout)
            self.assertIn(words, ran.stderr)

    def test_the_same_command_again_leaves_what_has_finished(self) -> None:
        grid = GRID.replace("[2, 99]", "[1, 2]")
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
        self.assertIn("to continue: scripts/sweep", out)
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

    def test_a_dry_run_checks_keys_too(self) -> None:
        ran = self.sweep('config = "tiny.toml"\n[grid]\n"optimizer.lrr" = [1]\n', "--dry-run")
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn("unknown key optimizer.lrr", ran.stderr)
        ran = self.sweep('config = "tiny.toml"\n[grid]\n"optimizer.lr" = [0.1, 1]\n', "--dry-run")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout.count("--set optimizer.lr="), 2)
        self.assertFalse((self.folder / "out").exists())

    def test_values_that_train_refuses_stop_before_anything_runs(self) -> None:
        for grid, words in [
            ('[set]\n"pipeline.schedule" = ["gpipe", "1f1b"]\n[grid]\n"optimizer.lr" = [0.1, 1]\n',
             ["train refuses every point; correct the grid", "lr=0.1 and 1 more:", "pipeline.schedule is an array"]),
            ('[grid]\n"optimizer.lr" = [0.1, 1]\n"pipeline.microbatches" = [2, 3]\n',  # 3 does not divide 16
             ["train refuses 2 of 4 points", "leave them out with --skip-refused", "lr=0.1,microbatches=3 and 1 more:", "does not divide"]),
            ('[grid]\n"optimizer.kind" = ["sgd", "adma"]\n', ["train refuses 1 of 2 points", "kind=adma:", '"adma" is not known']),
        ]:
            for options in [], ["--dry-run"]:
                with self.subTest(grid=grid, options=options):
                    ran = self.sweep('config = "tiny.toml"\n' + grid, *options)
                    self.assertEqual((ran.returncode, ran.stdout), (2, ""), ran.stderr)
                    for word in words:
                        self.assertIn(word, ran.stderr)
                    self.assertFalse((self.folder / "out").exists())

    def test_points_that_train_refuses_can_be_left_out(self) -> None:
        grid = 'config = "tiny.toml"\n[grid]\n"optimizer.lr" = [0.1, 1]\n"pipeline.microbatches" = [2, 3]\n'
        ran = self.sweep(grid, "--skip-refused", "--no-plot")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("train refuses 2 of 4 points, which are left out", ran.stderr)
        self.assertEqual(list(self.rows()), ["lr=0.1,microbatches=2", "lr=1,microbatches=2"])
        ran = self.sweep(grid.replace("[2, 3]", "[3]"), "--skip-refused")
        self.assertEqual(ran.returncode, 2, ran.stderr)
        self.assertIn("train refuses every point", ran.stderr)

    def test_a_config_that_is_not_there_stops_before_anything_runs(self) -> None:
        for config in '"nope.toml"', '["tiny.toml", "nope.toml"]':
            ran = self.sweep(f'config = {config}\n[grid]\n"optimizer.lr" = [0.1, 1]\n', "--dry-run")
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn('config = "nope.toml": there is no such file in ', ran.stderr)
            self.assertIn("relative to the grid's folder", ran.stderr)

    def test_a_binary_that_is_not_there_is_named(self) -> None:
        missing = self.folder / "no-pipetrain"
        ran = subprocess.run(self.command('config = "tiny.toml"\n[grid]\n"optimizer.lr" = [0.1]\n'), capture_output=True, text=True,
                             cwd=self.folder, env=os.environ | {"PIPETRAIN_BINARY": str(missing)})
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn(f"{missing}: cannot be run: No such file or directory; name pipetrain's binary", ran.stderr)

    def test_slips_in_a_grid(self) -> None:
        for text, words in [("", "config is missing"), ('config = "a"\n', "no point to train"),
                            ('config = "a"\ngrids = 1\n', "unknown key grids"), ("config = ", "no valid TOML"),
                            ('config = "a"\n[grid]\n"optimizer.lr" = 0.1\n', "optimizer.lr is no list"),
                            ('config = "a"\n[grid]\n"optimizer.lr" = []\n', "optimizer.lr has no values; write at least one, such as [0.1]"),
                            ('config = "a"\n[set]\na.b = 1\n[grid]\na.b = [1]\n', "a.b is in set and"),
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
