"""scripts/pack-deps: which folders it accepts. It ends there, because the checkout of this test cannot be set up.

  PIPETRAIN_SOURCE=. python3 tests/cli/pack_deps_test.py
"""
import os
import platform
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(os.environ["PIPETRAIN_SOURCE"]).resolve() / "scripts" / "pack-deps"
REFUSED, SET_UP = 2, 9


@unittest.skipIf(platform.machine() != "x86_64", "packs are for x86_64")
class PackDeps(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.here = Path(folder.name).resolve() / "here"
        self.checkout = self.here.parent / "checkout"
        (self.checkout / "scripts").mkdir(parents=True)
        self.here.mkdir()
        shutil.copy(SCRIPT, self.checkout / "scripts")
        setup = self.checkout / "scripts" / "setup"
        setup.write_text(f"#!/bin/sh\nexit {SET_UP}\n")
        setup.chmod(0o755)

    def pack(self, *folder: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.checkout / "scripts" / "pack-deps", *folder], cwd=self.here, capture_output=True,
                              text=True, timeout=60)

    def make(self, file: Path, text: str) -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def make_pack(self, folder: Path) -> None:
        self.make(folder / "lib/pkgconfig/dnnl.pc", "Description: packed by scripts/pack-deps\n")

    def test_a_folder_with_something_else_is_refused_and_kept(self) -> None:
        mine = self.make(self.here / "pack" / "mine", "text")
        for name in ("pack", "pack/", "./pack//", str(self.here / "pack"), "pack/mine"):
            ran = self.pack(name)
            self.assertEqual((ran.returncode, mine.read_text()), (REFUSED, "text"), name)
            self.assertIn("is neither empty nor a pack; name a new folder", ran.stderr)

    def test_without_a_name_it_is_the_checkouts_own(self) -> None:
        self.make(self.checkout / ".deps" / "mine", "text")
        ran = self.pack()
        self.assertEqual(ran.returncode, REFUSED)
        self.assertIn(f"pack-deps: {self.checkout}/.deps is neither", ran.stderr)

    def test_a_new_an_empty_and_an_earlier_pack_are_accepted(self) -> None:
        (self.here / "empty").mkdir()
        self.make_pack(self.here / "earlier")
        self.make(self.checkout / "new" / "mine", "not in the caller's folder")
        for name in ("new", "new/", "empty", "empty/", "earlier", "earlier/"):
            self.assertEqual(self.pack(name).returncode, SET_UP, name)

    def test_an_option_prints_the_usage(self) -> None:
        ran = self.pack("--help")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("scripts/pack-deps [FOLDER]", ran.stdout)


if __name__ == "__main__":
    unittest.main()
