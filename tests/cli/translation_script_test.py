"""scripts/reproduction/translation.py: a test set is translated again when the weights are others.

  PIPETRAIN_SOURCE=. python3 tests/cli/translation_script_test.py
"""
import gzip
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

SOURCE = Path(os.environ["PIPETRAIN_SOURCE"]).resolve()
sys.path[:0] = [str(SOURCE / "scripts"), str(SOURCE / "scripts/reproduction")]
import translation  # noqa: E402

RUN = translation.RUNS_TO_DO[0]


class Translations(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.output = self.folder / RUN.name
        (self.folder / f"{translation.TEST}.de.gz").write_bytes(gzip.compress(b"ein Hund\n"))
        self.enterContext(mock.patch.object(translation, "RUNS", self.folder))
        self.enterContext(mock.patch("subprocess.run", self.pipetrain))
        self.trains("model.safetensors", "weights of epoch 1")

    def trains(self, file: str, text: str, status: int = 0) -> None:
        """What the next training writes, and how it ends."""
        self.file, self.text, self.status = file, text, status

    def pipetrain(self, command: list[str], **_) -> subprocess.CompletedProcess:
        if command[1] == "train":
            (self.output / self.file).parent.mkdir(parents=True, exist_ok=True)
            (self.output / self.file).write_text(self.text)
            return subprocess.CompletedProcess(command, self.status, "", "")
        self.generated += 1
        self.named = Path(command[command.index("--model") + 1])
        return subprocess.CompletedProcess(command, self.generate_status, f"by {self.text}".encode(), b"interrupted")

    def times(self, generate_status: int = 0) -> int:
        """How often a call of the script translates."""
        self.generated, self.generate_status = 0, generate_status
        translation.train(RUN, self.folder, epochs=1)
        return self.generated

    def translated(self) -> str:
        return (self.output / "test.en").read_text()

    def test_once_for_the_same_weights(self) -> None:
        self.assertEqual((self.times(), self.times()), (1, 0))
        self.assertEqual(self.translated(), "by weights of epoch 1")
        self.assertEqual(self.named, self.output / "model.safetensors")

    def test_again_for_other_weights(self) -> None:
        self.times()
        self.trains("model.safetensors", "weights of epoch 6")
        self.assertEqual((self.times(), self.times()), (1, 0))
        self.assertEqual(self.translated(), "by weights of epoch 6")

    def test_again_for_another_best_checkpoint_and_another_of_its_name(self) -> None:
        self.trains("checkpoints/best", "step-1\n")
        manifests = [self.output / f"checkpoints/step-{step}/manifest.json" for step in (1, 2)]
        for manifest in manifests:
            manifest.parent.mkdir(parents=True)
            manifest.write_text(str(manifest))
        self.assertEqual((self.times(), self.times()), (1, 0))
        self.trains("checkpoints/best", "step-2\n")
        self.assertEqual((self.times(), self.times()), (1, 0))
        manifests[1].write_text("of another training")
        self.assertEqual((self.times(), self.times()), (1, 0))
        self.assertEqual(self.named, self.output / "checkpoints/best")

    def test_again_where_it_is_not_recorded(self) -> None:
        self.output.mkdir()
        (self.output / "test.en").write_text("by an earlier version of this script")
        self.assertEqual((self.times(), self.times()), (1, 0))
        self.assertEqual(self.translated(), "by weights of epoch 1")

    def test_again_after_it_failed(self) -> None:
        self.times()
        self.trains("model.safetensors", "weights of epoch 6")
        with self.assertRaisesRegex(SystemExit, "interrupted"):
            self.times(generate_status=4)
        self.assertEqual((self.times(), self.translated()), (1, "by weights of epoch 6"))

    def test_a_training_that_diverged_has_no_translations(self) -> None:
        self.times()
        self.trains("model.safetensors", "weights of epoch 1", status=5)
        self.assertEqual(self.times(), 0)
        self.assertEqual(translation.bleu_of(self.output, self.folder, "python3"), "diverged")


if __name__ == "__main__":
    unittest.main()
