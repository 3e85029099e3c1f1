"""scripts/gpu-check: what ends when a step's time is up, when it configures again, and what proves that a run resumed.

  PIPETRAIN_SOURCE=. python3 tests/cli/gpu_check_test.py
"""
import io
import os
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(os.environ["PIPETRAIN_SOURCE"]).resolve() / "scripts"))
import gpu_check  # noqa: E402  # pylint: disable=wrong-import-position
import gpu_steps  # noqa: E402  # pylint: disable=wrong-import-position

# As Meson does, it runs a test in a session of its own. Neither the test nor, if told so, the launcher heeds SIGTERM.
LAUNCHER = """
import os, signal, subprocess, sys, time
def stop(*_):
    os.write(1, b"cancelled\\n")  # print() might be at work below
    if sys.argv[1] == "heeds": sys.exit(1)
signal.signal(signal.SIGTERM, stop)
test = subprocess.Popen(["sh", "-c", "trap '' TERM; echo up; sleep 60; :"], start_new_session=True,
  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
test.stdout.readline()
print(test.pid, flush=True)
time.sleep(60)
"""
# Trains at once, or as far as step 50, where it takes a while to write its checkpoint; resumes from one that is whole.
PIPETRAIN = """#!/usr/bin/env python3
import os, pathlib, signal, sys, time
out = pathlib.Path(sys.argv[sys.argv.index("--output") + 1])
begun, whole = out.exists(), out / "checkpoints/step-00000050"
part = pathlib.Path(f"{whole}.part")
def steps(last):
    (out / "metrics.jsonl").write_text("".join('{"event": "step", "step": %d}\\n' % n for n in range(1, last + 1)))
if out.name == "killed" and not begun:
    part.mkdir(parents=True)
    signal.signal(signal.SIGTERM, lambda *_: (out / "asked_to_stop").touch())
    steps(50)
    time.sleep(0.2)
    part.rename(whole)
    time.sleep(60)
if whole.exists() and "FORGETS" not in os.environ: print(f"resumes after step 50, from {whole}")
out.mkdir(parents=True, exist_ok=True)
steps(1500)
(out / "model.safetensors").write_text("weights")
"""


def runs(process_id: int) -> bool:
    try:
        return Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class GpuCheck(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = Path(folder.name).resolve()
        options = types.SimpleNamespace(backend="cpu", build=self.build, limit=60)
        self.check = gpu_check.Check(options, dict(os.environ), self.build, io.StringIO())

    def launch(self, how: str) -> tuple:
        process = self.check.start(sys.executable, "-c", LAUNCHER, how)
        test = int(process.stdout.readline())
        time.sleep(0.1)  # until the launcher has printed that and sleeps
        return process, test

    def assert_ends(self, process_id: int) -> None:
        end = time.monotonic() + 20
        while runs(process_id) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertFalse(runs(process_id))

    def test_what_runs_in_another_session_is_killed_too(self) -> None:
        for how, patience_s in (("heeds", 20), ("ignores", 3), ("heeds", 0)):
            process, test = self.launch(how)
            said = self.check.kill(process, patience_s=patience_s)
            self.assert_ends(test)
            self.assertEqual("cancelled" in said, patience_s > 0)  # without patience it cannot save anything
            self.assertEqual(process.returncode, 1 if patience_s == 20 else -9)

    def configured(self) -> list:
        """The options of each meson setup that the folder needs now."""
        calls = []

        def run(*command, **_):
            calls.append(command[4:])
            self.assertEqual(command[:4], ("meson", "setup", self.build, self.check.root))
            self.assertFalse((self.build / "meson-private").exists())  # else Meson says that it is already configured
            (self.build / "meson-private").mkdir()
            (self.build / "build.ninja").touch()
            return gpu_check.Ran(0, "")

        self.check.run = run
        gpu_steps.configure(self.check)
        return calls

    def test_the_build_is_configured_again_if_it_was_made_for_something_else(self) -> None:
        (self.build / "meson-private").mkdir()
        (self.build / "build.ninja").touch()  # by hand
        self.assertEqual((self.configured(), self.configured()), ([()], []))
        self.check.backend = "cuda"
        self.assertEqual((self.configured(), self.configured()), ([("-Dcuda=enabled",)], []))
        for name in ("CUDA_PATH", "PKG_CONFIG"):
            self.check.environment[name] = "another"
            self.assertEqual((len(self.configured()), self.configured()), (1, []), name)
        (self.build / "build.ninja").unlink()
        self.assertEqual(len(self.configured()), 1)

    def resume(self, **environment: str) -> dict:
        self.check.binary.write_text(PIPETRAIN)
        self.check.binary.chmod(0o755)
        self.check.environment.update(environment)
        values = {}
        gpu_steps.resume(self.check, values)
        return values

    def test_a_run_is_killed_after_its_checkpoint_is_whole_and_resumes_from_it(self) -> None:
        self.assertEqual(self.resume(), {"killed_after_step": 50, "resumed_after_step": 50, "steps": 1500})
        self.assertFalse((self.check.scratch / "killed/asked_to_stop").exists())  # SIGKILL, without a word before

    def test_a_run_that_begins_again_has_not_resumed(self) -> None:
        with self.assertRaisesRegex(gpu_steps.Failed, "did not resume"):
            self.resume(FORGETS="1")


if __name__ == "__main__":
    unittest.main()
