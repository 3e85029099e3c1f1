"""scripts/supervise: what is started again, how often, with how many ranks, and what a signal does.

  PIPETRAIN_SOURCE=. python3 tests/cli/supervise_test.py
"""
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SCRIPT = Path(os.environ["PIPETRAIN_SOURCE"]).resolve() / "scripts" / "supervise"

# Writes its arguments to a file, and ends as the next line of another file says.
CHILD = """#!/bin/sh
echo "$*" >> "$0.starts"
status=$(head -n 1 "$0.plan"); sed -i 1d "$0.plan"
case "$status" in kill) kill -9 $$;; *) exit "$status";; esac
"""
# Ends with 143 on SIGTERM, as a training does once it has saved.
SAVES = """#!/bin/sh
echo start >> "$0.starts"
trap 'echo saved >> "$0.starts"; exit 143' TERM
echo up > "$0.up"
while :; do sleep 0.02; done
"""
# Waits after its rank has ended, as mpirun does for a host that does not answer; the second start has no rank.
LINGERS = """#!/bin/sh
echo start >> "$0.starts"
[ "$(wc -l < "$0.starts")" -gt 1 ] && exit 0
OMPI_COMM_WORLD_RANK=0 sleep 0.3
exec sleep 3600
"""
WAITS = """#!/bin/sh
echo start >> "$0.starts"
OMPI_COMM_WORLD_RANK=0 sleep 1
"""


class Supervise(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.child = Path(self.folder.name) / "mpirun"

    def make(self, text: str) -> None:
        self.child.write_text(text)
        self.child.chmod(0o755)

    def starts(self) -> list[str]:
        return Path(f"{self.child}.starts").read_text().splitlines()

    def run_with(self, plan: list[str], *options: str, words: tuple[str, ...] = ()) -> subprocess.CompletedProcess:
        self.make(CHILD)
        Path(f"{self.child}.plan").write_text("".join(f"{line}\n" for line in plan))
        return subprocess.run([sys.executable, "-B", SCRIPT, "--wait", "0", *options, self.child, *words],
                              capture_output=True, text=True, timeout=60)

    def test_what_failed_outside_is_started_again_until_it_is_done(self) -> None:
        ran = self.run_with(["4", "kill", "1", "0"], words=("train", "x"))
        self.assertEqual((ran.returncode, self.starts()), (0, ["train x"] * 4))
        self.assertIn("status 137", ran.stderr)

    def test_what_would_fail_again_is_not_started_again(self) -> None:
        for status in (2, 3, 5):
            Path(f"{self.child}.starts").unlink(missing_ok=True)
            self.assertEqual(self.run_with([str(status)]).returncode, status)
            self.assertEqual(len(self.starts()), 1)

    def test_it_gives_up_with_the_last_status(self) -> None:
        ran = self.run_with(["4"] * 9, "--restarts", "2")
        self.assertEqual((ran.returncode, len(self.starts())), (4, 3))
        self.assertIn("giving up", ran.stderr)

    def test_a_steady_run_counts_as_the_first_again(self) -> None:
        ran = self.run_with(["4"] * 4 + ["0"], "--restarts", "1", "--steady", "0")
        self.assertEqual((ran.returncode, len(self.starts())), (0, 5))

    def test_the_wait_doubles_up_to_the_longest(self) -> None:
        ran = self.run_with(["4"] * 5, "--wait", "0.01", "--longest", "0.03", "--restarts", "4")
        self.assertEqual([line.split(" in ")[1].split(" s")[0] for line in ran.stderr.splitlines()[:4]],
                         ["0.01", "0.02", "0.03", "0.03"])

    def test_shrinking_takes_a_rank_and_a_stage_away(self) -> None:
        words = ("-n", "3", "pipetrain", "--set", "pipeline.stages=3", "--set", "a=1")
        ran = self.run_with(["4", "4", "4", "0"], "--on-failure", "shrink", words=words)
        self.assertEqual(ran.returncode, 0)
        self.assertEqual(self.starts(), ["-n 3 pipetrain --set pipeline.stages=3 --set a=1",
                                         "-n 2 pipetrain --set a=1 --set pipeline.stages=2",
                                         "-n 1 pipetrain --set a=1 --set pipeline.stages=1",
                                         "-n 1 pipetrain --set a=1 --set pipeline.stages=1"])

    def test_shrinking_needs_a_number_of_ranks(self) -> None:
        ran = self.run_with(["0"], "--on-failure", "shrink", words=("train",))
        self.assertEqual(ran.returncode, 2)
        self.assertIn("names its ranks", ran.stderr)

    def test_a_launcher_whose_ranks_have_ended_is_killed_and_started_again(self) -> None:
        self.make(LINGERS)
        ran = subprocess.run([sys.executable, "-B", SCRIPT, "--wait", "0", "--linger", "0.2", self.child],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual((ran.returncode, self.starts()), (0, ["start"] * 2))
        self.assertIn("mpirun has not in 0.2 s: killing it", ran.stderr)
        self.assertIn("status 137", ran.stderr)

    def test_a_launcher_with_ranks_is_left_alone(self) -> None:
        self.make(WAITS)
        ran = subprocess.run([sys.executable, "-B", SCRIPT, "--linger", "0.2", self.child], capture_output=True, text=True,
                             timeout=60)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))

    def test_a_program_that_is_not_there_is_named(self) -> None:
        ran = subprocess.run([sys.executable, "-B", SCRIPT, "/no/such/program"], capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("/no/such/program: No such file", ran.stderr)

    def test_a_signal_is_passed_on_and_ends_it_all(self) -> None:
        self.make(SAVES)
        process = subprocess.Popen([sys.executable, "-B", SCRIPT, "--wait", "0", self.child])
        while not Path(f"{self.child}.up").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 143)
        self.assertEqual(self.starts(), ["start", "saved"])

    def test_a_signal_while_it_waits_ends_the_waiting(self) -> None:
        self.make(CHILD)
        Path(f"{self.child}.plan").write_text("4\n0\n")
        process = subprocess.Popen([sys.executable, "-B", SCRIPT, "--wait", "3600", "--longest", "3600", self.child],
                                   stderr=subprocess.PIPE, text=True)
        process.stderr.readline()  # it says that it waits
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=60), 4)
        process.stderr.close()
        self.assertEqual(len(self.starts()), 1)


if __name__ == "__main__":
    unittest.main()
