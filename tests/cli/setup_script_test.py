"""scripts/setup, on a machine of stubs: when .venv is made again, which oneDNN is accepted, that one waits for another.

  PIPETRAIN_SOURCE=. python3 tests/cli/setup_script_test.py
"""
import fcntl
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(os.environ["PIPETRAIN_SOURCE"]).resolve() / "scripts" / "setup"
PYTHON = """#!/bin/sh
case "$*" in
  --version) echo "Python $(cat "$MACHINE/python").9" ;;
  "-m venv --clear .venv")
    echo venv >> "$MACHINE/calls"
    rm -rf .venv && mkdir -p .venv/bin ".venv/lib/python$(cat "$MACHINE/python")/site-packages/pip"
    ln -s "$MACHINE/bin/python3" .venv/bin/python ;;
  "-m pip "*) echo pip >> "$MACHINE/calls" ;;
esac
"""
APT_GET = """#!/bin/sh
case "$*" in *install*)
  for package in "$@"; do :; done
  echo "apt $package" >> "$MACHINE/calls"
  cp "$MACHINE/apt" "$MACHINE/onednn" ;;
esac
"""
STUBS = {
    "python3": PYTHON,
    "uname": '#!/bin/sh\ncat "$MACHINE/processor"\n',
    "id": "#!/bin/sh\necho 0\n",
    "dpkg": "#!/bin/sh\n",
    "cmake": "#!/bin/sh\n",
    "apt-get": APT_GET,
    "pkg-config": '#!/bin/sh\n[ "$1" != --modversion ] || exit 1\n',
    "g++": '#!/bin/sh\ncat > "$MACHINE/read"; cat "$MACHINE/onednn" 2>/dev/null\n',
}


class Setup(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.machine = Path(folder.name).resolve() / "machine"
        self.checkout = self.machine / "checkout"
        self.ready = self.checkout / ".venv/.ready"
        (self.checkout / "scripts").mkdir(parents=True)
        (self.machine / "bin").mkdir()
        shutil.copy(SCRIPT, self.checkout / "scripts")
        for name, text in STUBS.items():
            (self.machine / "bin" / name).write_text(text)
            (self.machine / "bin" / name).chmod(0o755)
        self.has(python="3.11", processor="x86_64", apt="2")
        self.environment = {**os.environ, "MACHINE": str(self.machine),
                            "PATH": f"{self.machine}/bin:{os.environ['PATH']}"}

    def has(self, **values: str) -> None:
        for name, value in values.items():
            (self.machine / name).write_text(value + "\n")

    def called(self, status: int = 0) -> list[str]:
        """Runs scripts/setup. What it called to install something."""
        calls = self.machine / "calls"
        calls.unlink(missing_ok=True)
        ran = subprocess.run([self.checkout / "scripts/setup"], env=self.environment, capture_output=True, text=True,
                             timeout=60)
        self.assertEqual((ran.returncode, ran.stdout), (status, "" if status else "setup: everything is here\n"),
                         ran.stderr)
        self.said = ran.stderr
        return calls.read_text().splitlines() if calls.exists() else []

    def test_what_is_there_is_not_installed_again(self) -> None:
        self.assertEqual(self.called(), ["venv", "pip"])
        self.assertTrue(self.ready.read_text().startswith(f"{self.checkout}/.venv: python3.11 meson=="))
        self.assertEqual(self.called(), [])
        self.assertEqual(self.said, "")

    def test_another_python_gets_another_venv(self) -> None:
        self.called()
        self.has(python="3.13")
        self.assertEqual(self.called(), ["venv", "pip"])
        self.assertIn(": python3.13 ", self.ready.read_text())
        self.assertEqual(self.called(), [])

    def test_a_marker_without_a_python_is_brought_up_to_date(self) -> None:
        self.called()
        whole = self.ready.read_text()
        self.ready.write_text(whole.replace("python3.11 ", ""))
        self.assertEqual(self.called(), ["pip"])
        self.assertEqual(self.ready.read_text(), whole)

    def test_a_venv_that_was_moved_or_whose_python_is_gone_is_made_again(self) -> None:
        self.called()
        self.checkout = self.checkout.rename(self.machine / "moved")
        self.assertEqual(self.called(), ["venv", "pip"])
        (self.checkout / ".venv/bin/python").unlink()
        self.assertEqual(self.called(), ["venv", "pip"])

    def test_another_processor_needs_onednn_3(self) -> None:
        self.has(processor="aarch64", onednn="2")
        for _ in range(2):
            self.assertEqual(self.called(status=1), [])
            self.assertIn("setup: oneDNN 3 or newer is needed; found: 2. Build it from its", self.said)
        for version in ("3", "10"):
            self.has(onednn=version)
            self.called()
        self.assertIn("dnnl_version.h", (self.machine / "read").read_text())

    def test_onednn_of_the_system_is_installed_and_then_looked_at(self) -> None:
        self.has(processor="aarch64")
        self.assertEqual(self.called(status=1), ["apt libdnnl-dev"])
        self.assertIn("found: 2.", self.said)
        (self.machine / "onednn").unlink()
        self.has(apt="3")
        self.assertEqual(self.called(), ["apt libdnnl-dev", "venv", "pip"])

    @unittest.skipUnless(shutil.which("flock"), "there is no flock")
    def test_it_waits_for_another_that_installs_and_says_so(self) -> None:
        with (self.checkout / ".deps.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            waits = subprocess.Popen([self.checkout / "scripts/setup"], env=self.environment, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
            said = waits.stderr.readline()
            begun = (self.machine / "calls").exists()
        self.assertEqual(said, "setup: another scripts/setup is installing for this checkout; waiting until it has "
                               "finished\n")
        self.assertFalse(begun)
        waits.communicate(timeout=60)
        self.assertEqual((waits.returncode, (self.machine / "calls").read_text()), (0, "venv\npip\n"))

    @unittest.skipUnless(shutil.which("flock"), "there is no flock")
    def test_after_waiting_it_installs_only_what_is_still_missing(self) -> None:
        self.called()
        kept = self.ready.read_text()
        self.ready.unlink()
        with (self.checkout / ".deps.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            waits = subprocess.Popen([self.checkout / "scripts/setup"], env=self.environment, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
            waits.stderr.readline()
            self.ready.write_text(kept)  # the other has finished
            (self.machine / "calls").unlink()
            self.assertEqual(self.called(), [])  # and where everything is here, there is nothing to wait for
        waits.communicate(timeout=60)
        self.assertEqual((waits.returncode, (self.machine / "calls").exists()), (0, False))


if __name__ == "__main__":
    unittest.main()
