"""Our numbers compared with PyTorch's, in f32: max|a - b| / max|b| per tensor. See scripts/check-torch.

  layers      (torch_layers.py) every layer and loss on every backend, forward and both backward
              halves, through the test program kernel_runner
  optimizers  (torch_optimizers.py) update rules, clipping, learning-rate schedules
  initial     (torch_initial.py) names, shapes and distributions of the initial values
  training    (torch_training.py) what the binary trains and exports
  models      (torch_gradients.py, torch_models.py) the vision models' gradients, weights both ways
  language    (torch_language.py) the same for the language models
  translation (torch_translation.py) the same for the translation models, on padded mini-batches
"""

import argparse
import pathlib
import sys
import tempfile

import torch
import torch_gradients
import torch_initial
import torch_language
import torch_layers
import torch_optimizers
import torch_training
import torch_translation

PARTS = ["layers", "optimizers", "initial", "training", "models", "language", "translation"]


class Report:
    """Prints one line per case and counts them."""

    def __init__(self):
        self.agree = self.differ = 0

    def case(self, where, name, differences, tolerance, remark=""):
        """`where`: a backend; `differences`: name of each thing compared -> its difference."""
        worst = max(differences, key=lambda key: differences[key])
        fits = differences[worst] <= tolerance
        others = f", worst of {len(differences)}" if len(differences) > 1 else ""
        self.line(fits, where, name, f"{differences[worst]:.1e} {'<=' if fits else '> '} "
                                     f"{tolerance:.0e}  {worst}{others}{remark}")

    def line(self, fits, where, name, text):
        self.agree += fits
        self.differ += not fits
        print(f"{'agrees' if fits else 'DIFFERS':8}{where:10}{name:48}{text}", flush=True)


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(prog="check-torch", description=__doc__.splitlines()[0])
    parser.add_argument("--pipetrain", type=pathlib.Path, default=root / "build",
                        metavar="BUILD-FOLDER", help="where scripts/build built (default: build)")
    parser.add_argument("--backends", default="reference,cpu")
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    runner = options.pipetrain.resolve() / "tests/backend/kernel_runner"
    binary = options.pipetrain.resolve() / "pipetrain"
    for program in (runner, binary):
        if not program.exists():
            sys.exit(f"check-torch: {program} is not there; run scripts/build --all first")

    torch.set_num_threads(1)  # small tensors: threads would only wait for each other
    report = Report()
    backends = options.backends.split(",")
    with tempfile.TemporaryDirectory(prefix="check-torch-") as folder:
        folder = pathlib.Path(folder)
        wanted = [options.only] if options.only else PARTS
        if "layers" in wanted:
            torch_layers.check(runner, backends, folder, report)
        if "optimizers" in wanted:
            torch_optimizers.check(binary, backends, folder, report)
        if "initial" in wanted:
            torch_initial.check(binary, folder, report)
        if "training" in wanted:
            torch_training.check(binary, runner, backends, folder, report)
        if "models" in wanted:
            torch_gradients.check(binary, runner, backends, folder, report)
        if "language" in wanted:
            torch_language.check(binary, backends, folder, report)
        if "translation" in wanted:
            torch_translation.check(binary, backends, folder, report)
    print(f"{report.agree} agree, {report.differ} do not")
    return 1 if report.differ else 0


if __name__ == "__main__":
    sys.exit(main())
