"""What scripts/reproduction keeps and says, without training: results as they come, of one kind of data; pages name it.

  PIPETRAIN_SOURCE=. python3 tests/cli/reproduction_test.py
"""
import contextlib
import io
import json
import os
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

SOURCE = Path(os.environ["PIPETRAIN_SOURCE"]).resolve()
sys.path[:0] = [str(SOURCE / "scripts"), str(SOURCE / "scripts/reproduction")]
import convolutional  # noqa: E402
import pipedream_page  # noqa: E402
import pipemare  # noqa: E402
import runs  # noqa: E402
import timeprest  # noqa: E402
import utilisation  # noqa: E402
from kept import Kept  # noqa: E402


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "results.json"
        for stream in (contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())):
            self.enterContext(stream)
        self.have_mnist(True)
        self.have_cores(2)

    def have_mnist(self, have: bool) -> None:
        self.enterContext(mock.patch.multiple(runs, DIGITS=have, LABELS=have))

    def have_cores(self, count: int) -> None:
        self.enterContext(mock.patch("os.sched_getaffinity", lambda _: set(range(count))))

    def read(self) -> dict:
        return json.loads(self.file.read_text())


class Keeping(Case):
    def test_what_finished_is_kept_though_an_earlier_one_fails(self) -> None:
        def make(work: str) -> int:
            for _ in range(200):
                if work == "quick" or (self.file.exists() and "quick" in self.read()["runs"]):
                    break
                threading.Event().wait(0.01)
            if work == "slow":
                raise SystemExit("failed")
            return 1

        with self.assertRaises(SystemExit):
            Kept(self.file).all_of("runs", {"slow": "slow", "quick": "quick"}, make)
        self.assertEqual(self.read()["runs"], {"quick": 1})

    def test_nothing_begins_after_a_failure(self) -> None:
        self.have_cores(1)
        begun = []

        def make(work: int) -> int:
            begun.append(work)
            raise SystemExit("failed")

        with self.assertRaises(SystemExit):
            Kept(self.file).all_of("runs", {str(i): i for i in range(100)}, make)
        self.assertLess(len(begun), 100)

    def test_the_order_is_that_of_what_is_wanted(self) -> None:
        second = threading.Event()

        def make(work: str) -> str:
            if work == "a":
                second.wait(2)
            if work == "b":
                second.set()
            return work

        kept = Kept(self.file)
        found = kept.all_of("runs", {key: key for key in "ab"}, make)
        self.assertEqual((list(found), list(self.read()["runs"])), (["a", "b"], ["a", "b"]))
        self.assertEqual(list(kept.all_of("runs", {key: key for key in "cb"}, make)), ["a", "c", "b"])

    def test_one_at_a_time_for_each_core_that_it_may_use(self) -> None:
        for cores in (1, 3):
            self.have_cores(cores)
            at_once, most, lock = 0, 0, threading.Lock()

            def make(work: int) -> int:
                nonlocal at_once, most
                with lock:
                    at_once += 1
                    most = max(most, at_once)
                threading.Event().wait(0.02)
                with lock:
                    at_once -= 1
                return work

            Kept(self.file).all_of(f"with {cores}", {str(i): i for i in range(9)}, make)
            self.assertEqual(most, cores)


class KindsOfData(Case):
    def continued(self) -> Kept:
        kept = Kept(self.file)
        kept.all_of("runs", {"first": 1, "second": 2}, lambda work: work)
        return kept

    def start(self) -> None:
        Kept(self.file).all_of("runs", {"first": 1}, lambda work: work)

    def test_the_first_result_is_kept_with_its_data(self) -> None:
        Kept(self.file)
        self.assertFalse(self.file.exists())
        self.start()
        self.assertEqual(self.read(), {"data": runs.MNIST, "runs": {"first": 1}})

    def test_results_of_mnist_are_not_continued_without_it(self) -> None:
        self.start()
        self.have_mnist(False)
        before = self.file.read_bytes()
        said = "cannot continue .*results.json: .* digits of MNIST, .*fetch-dataset mnist"
        with self.assertRaisesRegex(SystemExit, said):
            self.continued()
        with self.assertRaisesRegex(SystemExit, "cannot continue"):
            Kept(self.file).part("measured", list)
        self.assertEqual(self.file.read_bytes(), before)

    def test_drawn_results_are_not_continued_with_mnist(self) -> None:
        self.have_mnist(False)
        self.start()
        self.have_mnist(True)
        with self.assertRaisesRegex(SystemExit, "made with drawn images, .*; move the file away"):
            self.continued()

    def test_what_is_complete_can_be_read_anywhere(self) -> None:
        self.continued()
        self.have_mnist(False)
        self.assertEqual(self.continued().parts, {"data": runs.MNIST, "runs": {"first": 1, "second": 2}})

    def test_a_missing_record_is_mnist_or_that_of_the_profile(self) -> None:
        for found, data in (({"runs": {"first": 1}}, runs.MNIST), ({"profile": {"digits": True}}, runs.MNIST),
                            ({"profile": {"digits": False}}, runs.DRAWN)):
            self.file.write_text(json.dumps(found))
            kept = Kept(self.file)
            kept.forget(["profile"])
            self.assertEqual(kept.parts["data"], data)
            self.have_mnist(data == runs.MNIST)
            self.continued()
            self.assertEqual(self.read()["data"], data)


class Pages(Case):
    def page_of(self, script, found: dict) -> str:
        self.file.write_text(json.dumps(found))
        patches = dict.fromkeys(("write_files", "draw"), mock.DEFAULT) | {
            "Kept": lambda _: Kept(self.file), "time_of": lambda *_: 1.0}
        with mock.patch.multiple(script, write_page=mock.DEFAULT, **patches) as made, mock.patch("sys.argv", ["name"]):
            script.main()
        return made["write_page"].call_args.args[1]

    def assert_names(self, page_of, digits: str, drawn: str) -> None:
        """The page names the data of its results, though trainings here would read the other kind."""
        for record, said, unsaid in (({"data": runs.MNIST}, digits, drawn), ({}, digits, drawn),
                                     ({"data": runs.DRAWN}, drawn, digits)):
            self.have_mnist(said == drawn)
            text = page_of(record)
            self.assertIn(said, text)
            self.assertNotIn(unsaid, text)

    def convolutional_runs(self, accuracy: dict[str, float] = {}) -> dict:
        """At all times 50%, or what is given for a method."""
        steps = range(convolutional.EVERY, convolutional.STEPS + 1, convolutional.EVERY)
        return {convolutional.key_of(m, p, method, rate): {
            "accuracy": {str(step): accuracy.get(method, 50.0) for step in steps}, "memory": 2**20, "versions": [1] * p}
            for m in convolutional.MODELS for p in convolutional.STAGES for method in convolutional.METHODS
            for rate in convolutional.RATES}

    def test_convolutional(self) -> None:
        made = self.convolutional_runs()
        self.assert_names(lambda record: self.page_of(convolutional, record | {"runs": made}),
                          "handwritten digits (MNIST), each", "drawn stripes")

    def test_the_claims_that_did_not_hold_come_first(self) -> None:
        made = self.convolutional_runs({"pipedream_2bw": 40.0, "timeprest": 49.5})
        for model in convolutional.MODELS:  # in half of the cases PipeMare ends lower
            for rate in convolutional.RATES:
                accuracy = made[convolutional.key_of(model, 8, "pipemare", rate)]["accuracy"]
                accuracy |= dict.fromkeys(accuracy, 30.0)
        rows = [line.split(" | ") for line in self.page_of(convolutional, {"runs": made}).splitlines()
                if line.startswith(("| PipeDream-2BW ends", "| PipeMare ends", "| TiMePReSt is a little"))]
        self.assertEqual([row[1] for row in rows], ["no", "in 2 of 4", "yes"])
        self.assertEqual([row[2] for row in rows], [
            "ends -10.0 to -10.0 points beside `1f1b` |", "ends -20.0 to +0.0 points beside `1f1b, undivided` |",
            "ends -0.5 to -0.5 points beside `pipedream` |"])

    def test_timeprest(self) -> None:
        stage = {"gradients": 1024, "optimizer": 1024, "weights": 1024, "activations": 1024}
        every, steps, stages = timeprest.EVERY, timeprest.STEPS, timeprest.STAGES
        one = {"accuracy": {str(step): 90.0 for step in range(every, steps + 1, every)}, "versions": [1] * stages,
               "memory": [stage] * stages}
        made = {timeprest.key_of(method, rate, seed): one for method in timeprest.methods() for rate in timeprest.RATES
                for seed in timeprest.SEEDS}
        self.assert_names(lambda record: self.page_of(timeprest, record | {"runs": made}),
                          "on digits of MNIST", "on drawn digits")

    def published(self, name: str) -> dict:
        found = json.loads((SOURCE / f"docs/reproductions/{name}.json").read_text())
        found.pop("data", None)
        return found

    def test_pipemare(self) -> None:
        found = self.published("pipemare")
        self.assert_names(lambda record: pipemare.page(found | record), "on digits of MNIST", "on drawn digits")

    def test_pipemare_publishes_the_record(self) -> None:
        found = self.published("pipemare") | {"data": runs.DRAWN}
        self.assertEqual(json.loads(pipemare.one_row_a_line(found)), found)

    def test_pipedream(self) -> None:
        found = self.published("pipedream")
        for digits, drawn in (("on real digits", "on drawn digits"), ("8,000 digits of MNIST", "8,000 drawn digits")):
            self.assert_names(lambda record: pipedream_page.page(found | record), digits, drawn)


class OneCore(Case):
    def test_runs_with_cores_of_unlike_speed_are_told_apart(self) -> None:
        made = {"stages": [{"busy": 0.9}, {"busy": 0.72}]}
        self.assertAlmostEqual(utilisation.imbalance(made), 0.25)
        cases = [{"name": name, "p": 2, "n": n, "runs": [0.05, 0.15, 0.07], "imbalances": [0.02, 0.25, 0.03]}
                 for name in ("timeprest", "timeprest, busy", "pipedream") for n in (4, 8)]
        said = utilisation.balance_verdict(cases)
        self.assertIn("0.060 (median; 0.050 to 0.070) in the 2 of 3 runs", said)
        self.assertIn("the others it is 0.150", said)

    def test_utilisation_is_refused_before_anything_runs(self) -> None:
        with mock.patch.multiple(utilisation, CORES=1, on_paper=mock.DEFAULT, on_cores=mock.DEFAULT) as begun:
            with self.assertRaisesRegex(SystemExit, "P = 2 needs a core for each worker, and this process may use 1;"):
                utilisation.main()
        for step in begun.values():
            if isinstance(step, mock.Mock):
                step.assert_not_called()


if __name__ == "__main__":
    unittest.main()
