"""Our numbers against PyTorch's, in f32: max|a - b| / max|b| per tensor. See scripts/check-torch.

First part (torch_layers.py): every layer and loss on every backend, forward and both backward
halves, through the test program kernel_runner. Second part (torch_training.py): what the binary
trains and exports.
"""

import argparse
import pathlib
import sys
import tempfile

import torch_layers
import torch_training


class Report:
    """Prints a line per case and counts."""

    def __init__(self):
        self.agree = self.differ = 0

    def case(self, name, differences, tolerance):
        """`differences`: of each thing compared, by name."""
        worst = max(differences, key=lambda key: differences[key])
        fits = differences[worst] <= tolerance
        self.line(fits, f"{name}: {differences[worst]:.1e} ({worst} of {len(differences)})")

    def line(self, fits, text):
        self.agree += fits
        self.differ += not fits
        print(("agrees   " if fits else "DIFFERS  ") + text, flush=True)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(prog="check-torch", description=__doc__.splitlines()[0])
    parser.add_argument("--pipetrain", type=pathlib.Path, default=root / "build",
                        metavar="BUILD-FOLDER", help="where scripts/build built (default: build)")
    parser.add_argument("--backends", default="reference,cpu")
    parser.add_argument("--only", choices=["layers", "training"])
    options = parser.parse_args()
    runner = options.pipetrain.resolve() / "tests/backend/kernel_runner"
    binary = options.pipetrain.resolve() / "pipetrain"
    for program in (runner, binary):
        if not program.exists():
            sys.exit(f"check-torch: {program} is not there; run scripts/build first")

    report = Report()
    backends = options.backends.split(",")
    with tempfile.TemporaryDirectory(prefix="check-torch-") as folder:
        folder = pathlib.Path(folder)
        if options.only != "training":
            torch_layers.check(runner, backends, folder, report)
        if options.only != "layers":
            torch_training.check(binary, runner, backends, folder, report)
    print(f"{report.agree} agree, {report.differ} do not")
    return 1 if report.differ else 0


if __name__ == "__main__":
    sys.exit(main())
