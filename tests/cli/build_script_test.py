"""scripts/build: which options a folder has, when it is configured again, and that one waits for another.

  PIPETRAIN_SOURCE=. python3 tests/cli/build_script_test.py
"""
import fcntl
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(os.environ["PIPETRAIN_SOURCE"]).resolve() / "scripts" / "build"
ASAN = ["--native-file", "meson/asan.ini"]
MESON = """#!/bin/sh
echo "$*" >> meson.calls
[ ! -e broken ] || exit 1
mkdir -p "$2" && touch "$2/build.ninja"
"""


class Build(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.checkout = Path(folder.name).resolve() / "checkout"
        for name, text in (("scripts/setup", "#!/bin/sh\n"), (".venv/bin/meson", MESON),
                           (".venv/bin/ninja", '#!/bin/sh\necho "$*" >> ninja.calls\n')):
            self.make(name, text).chmod(0o755)
        self.toolchain("first")
        shutil.copy(SCRIPT, self.checkout / "scripts")
        self.environment = {name: value for name, value in os.environ.items() if name != "CI"}

    def make(self, name: str, text: str) -> Path:
        file = self.checkout / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def toolchain(self, name: str) -> None:
        self.make(".venv/.ready", name + "\n")

    def configured(self, *arguments: str, ci: bool = False, succeeds: bool = True) -> list[str]:
        """Runs scripts/build. With which arguments it called meson setup, each call as one line."""
        calls = self.checkout / "meson.calls"
        calls.unlink(missing_ok=True)
        environment = self.environment | ({"CI": "true"} if ci else {})
        ran = subprocess.run([self.checkout / "scripts/build", *arguments], env=environment, capture_output=True,
                             text=True, timeout=60)
        self.assertEqual((ran.returncode == 0, ran.stdout), (succeeds, ""), ran.stderr)
        self.said = ran.stderr
        return [line.removeprefix("setup ") for line in calls.read_text().splitlines()] if calls.exists() else []

    def test_a_folder_keeps_its_options(self) -> None:
        self.assertEqual(self.configured("build-asan", *ASAN), ["build-asan --native-file meson/asan.ini"])
        self.assertIn("build: configuring build-asan with --native-file meson/asan.ini\n", self.said)
        self.assertEqual(self.configured("--all", "build-asan"), [])
        self.assertEqual(self.configured("--only", "build.ninja", "build-asan", *ASAN), [])
        self.assertEqual(self.configured("build-asan"), [])

    def test_other_options_take_their_place(self) -> None:
        self.configured("build", "-Dmpi=disabled")
        self.assertEqual(self.configured("build", *ASAN), ["build --native-file meson/asan.ini"])
        self.assertEqual(self.configured("build"), [])

    def test_they_are_kept_when_the_folder_is_configured_again(self) -> None:
        self.configured("build", "-Dcpp_args=-O1 -g", "-Dmpi=disabled")
        again = ["build -Dcpp_args=-O1 -g -Dmpi=disabled"]
        self.toolchain("second")
        self.assertEqual(self.configured(), again)
        (self.checkout / "build/build.ninja").unlink()
        self.assertEqual(self.configured(), again)
        moved = self.checkout.with_name("moved")
        self.checkout = self.checkout.rename(moved)
        self.assertEqual(self.configured(), again)
        self.assertEqual(self.configured(), [])

    def test_options_that_failed_are_not_forgotten(self) -> None:
        self.make("broken", "")
        for arguments in (["build", *ASAN], []):
            self.assertEqual(self.configured(*arguments, succeeds=False), ["build --native-file meson/asan.ini"])
            self.assertIn("build: build keeps these options until it is deleted, or configured with others\n", self.said)
        (self.checkout / "broken").unlink()
        self.assertEqual(self.configured(), ["build --native-file meson/asan.ini"])
        self.assertEqual(self.configured("build", "-Dmpi=disabled"), ["build -Dmpi=disabled"])

    def test_a_new_folder_has_none(self) -> None:
        self.configured("build-asan", *ASAN)
        self.assertEqual(self.configured(), ["build"])
        shutil.rmtree(self.checkout / "build-asan")
        self.assertEqual(self.configured("build-asan"), ["build-asan"])

    def test_ci_is_not_kept_and_changes_no_option(self) -> None:
        self.assertEqual(self.configured(ci=True), ["build -Dwerror=true"])
        self.assertEqual(self.configured(ci=True), [])
        self.assertEqual(self.configured(), ["build"])
        self.configured("build-asan", *ASAN)
        self.assertEqual(self.configured("build-asan", ci=True),
                         ["build-asan -Dwerror=true --native-file meson/asan.ini"])
        self.assertEqual(self.configured("build-asan"), ["build-asan --native-file meson/asan.ini"])

    def test_errors_that_an_option_asks_for_are_kept(self) -> None:
        self.configured("build", "-Dwerror=true")
        self.assertEqual(self.configured(), [])

    def test_a_folder_of_gpu_check_is_configured_again(self) -> None:
        self.make("build-gpu/build.ninja", "")
        made_by = self.make("build-gpu/.made-by", f'["{self.checkout}", "cuda", "-Dcuda=enabled", null, null]')
        self.assertEqual(self.configured("build-gpu"), ["build-gpu"])
        self.assertFalse(made_by.read_text().startswith("["))

    @unittest.skipUnless(shutil.which("flock"), "there is no flock")
    def test_it_waits_for_another_in_the_folder_and_says_so(self) -> None:
        with self.make("build/.lock", "").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            waits = subprocess.Popen([self.checkout / "scripts/build"], env=self.environment, stderr=subprocess.PIPE,
                                     text=True)
            said = waits.stderr.readline()
            begun = (self.checkout / "meson.calls").exists()
            self.assertEqual(self.configured("build-other"), ["build-other"])
        self.assertEqual(said, "build: another scripts/build is at work in build; waiting until it has finished\n")
        self.assertFalse(begun)
        self.assertEqual(waits.communicate(timeout=60)[1], "build: configuring build\n")
        self.assertEqual(waits.returncode, 0)


if __name__ == "__main__":
    unittest.main()
