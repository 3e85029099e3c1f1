"""Ranks that are told to stop, die, fall silent or meet a full disk: all end, and the next start continues."""
import contextlib
import errno
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from ranks_rig import BINARY, RanksCase, digest, ends_within, failing, main, mpi_of_the_build, mpirun, run, steps_saved


class EndingRanksTest(RanksCase):
    def start(self, *sets, ranks=2):
        """Starts a training that takes forever; once it has saved, returns it and its second rank's process id."""
        call = mpirun((ranks, self.train("mpi", "long", "training.steps=100000", "checkpoint.every_steps=20",
                                     "validation.every_steps=0", *sets)))
        with open(self.folder / "errors", "w", encoding="utf-8") as errors:
            process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=errors)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        log = self.folder / "long/rank-1.log"
        for _ in range(600):
            if list((self.folder / "long/checkpoints").glob("step-????????")):
                return process, int(re.search(r"process (\d+)", log.read_text()).group(1))
            self.assertIsNone(process.poll(), (self.folder / "errors").read_text())
            time.sleep(0.05)
        self.fail("no checkpoint in 30 s")

    def test_ranks_of_one_host_share_memory_unless_messages_have_a_link(self):
        for sets, shares in ((), True), (["hardware.link.gbits=100"], False):
            process, rank = self.start(*sets)
            self.assertEqual("/memfd:pipetrain" in Path(f"/proc/{rank}/maps").read_text(), shares, sets)
            os.kill(rank, signal.SIGTERM)
            self.assertEqual(ends_within(process, 10), 128 + signal.SIGTERM, (self.folder / "errors").read_text())
            shutil.rmtree(self.folder / "long")

    def test_sigusr1_to_any_rank_saves_and_training_continues(self):
        call = mpirun((2, self.train("mpi", "long", "training.steps=1000000", "checkpoint.every_steps=0",
                                     "validation.every_steps=0")))
        process = subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        log, metrics = self.folder / "long/rank-1.log", self.folder / "long/metrics.jsonl"
        while not (log.exists() and "process " in log.read_text() and metrics.exists() and "step" in metrics.read_text()):
            self.assertIsNone(process.poll())
            time.sleep(0.05)
        rank = int(re.search(r"process (\d+)", log.read_text()).group(1))
        os.kill(rank, signal.SIGUSR1)
        for _ in range(200):
            if steps_saved(self.folder / "long"):
                break
            time.sleep(0.05)
        self.assertEqual(len(steps_saved(self.folder / "long")), 1)
        self.assertIsNone(process.poll())
        os.kill(rank, signal.SIGTERM)
        self.assertEqual(ends_within(process, 10), 128 + signal.SIGTERM)

    def finish_from_checkpoint(self):
        """Resumes on as many ranks as before, and expects the bits of a run that nothing interrupted."""
        steps = steps_saved(self.folder / "long")[-1] + 5
        sets = [f"training.steps={steps}", "checkpoint.every_steps=20", "validation.every_steps=0"]
        done = run(mpirun((4, self.train("mpi", "long", *sets))))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("resumes after step", done.stdout)
        done = run(self.train("threads", "whole", *sets))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(digest(self.folder / "long"), digest(self.folder / "whole"))

    def test_a_rank_that_is_killed_ends_all_and_the_next_start_continues(self):
        process, rank = self.start()
        os.kill(rank, signal.SIGKILL)
        self.assertNotIn(ends_within(process, 10), (None, 0))
        self.finish_from_checkpoint()

    def test_a_rank_that_falls_silent_ends_all_by_name(self):
        process, rank = self.start("hardware.peer_timeout=1", ranks=4)
        os.kill(rank, signal.SIGSTOP)
        try:
            # MPICH's launcher kills the stopped rank, and returns that signal.
            codes = (4, signal.SIGKILL) if mpi_of_the_build().startswith("MPICH") else (4,)
            self.assertIn(ends_within(process, 15), codes, (self.folder / "errors").read_text())
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(rank, signal.SIGKILL)
        self.assertIn("rank 1 has not been heard of for 1 s", (self.folder / "errors").read_text())

    def test_a_full_disk_of_one_rank_ends_all_by_name_and_the_checkpoint_before_stays(self):
        whole = self.train("mpi", "long")
        half = self.train("mpi", "long", "training.steps=5")
        self.assertEqual(run(mpirun((2, half))).returncode, 0)
        full = failing("write", self.folder / "long/checkpoints", errno.ENOSPC, self.folder / "fired")
        done = run(mpirun((1, whole), (1, full + whole)))
        self.assertTrue((self.folder / "fired").exists(), done.stderr)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, r"rank 1: \S+/stage-0002.safetensors: cannot be created: No space left on device")
        self.assertEqual(steps_saved(self.folder / "long"), [5])
        self.assertEqual(run([BINARY, "checkpoint", "verify", str(self.folder / "long")]).returncode, 0)
        done = run(mpirun((3, whole)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("resumes after step 5", done.stdout)
        self.assertEqual(run(self.train("threads", "whole")).returncode, 0)
        self.assertEqual(digest(self.folder / "long"), digest(self.folder / "whole"))

    def test_sigterm_to_one_rank_drains_saves_and_ends_all(self):
        process, rank = self.start()
        os.kill(rank, signal.SIGTERM)
        self.assertEqual(ends_within(process, 10), 128 + signal.SIGTERM, (self.folder / "errors").read_text())
        self.assertIn("stopped by SIGTERM", (self.folder / "errors").read_text())
        self.finish_from_checkpoint()

    def test_sigterm_ends_the_waiting_for_links_on_every_rank(self):
        minutes = "hardware.link.microseconds=1e9"
        with open(self.folder / "errors", "w", encoding="utf-8") as errors:
            process = subprocess.Popen(mpirun((2, self.train("mpi", "slow", minutes))), stdout=subprocess.DEVNULL, stderr=errors)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        log, metrics = self.folder / "slow/rank-1.log", self.folder / "slow/metrics.jsonl"
        while not (log.exists() and "process " in log.read_text() and metrics.exists() and "start" in metrics.read_text()):
            self.assertIsNone(process.poll(), (self.folder / "errors").read_text())
            time.sleep(0.05)
        time.sleep(1)  # the first message is on its way
        os.kill(int(re.search(r"process (\d+)", log.read_text()).group(1)), signal.SIGTERM)
        self.assertEqual(ends_within(process, 30), 128 + signal.SIGTERM, (self.folder / "errors").read_text())
        self.assertEqual(len(steps_saved(self.folder / "slow")), 1)


if __name__ == "__main__":
    main()
