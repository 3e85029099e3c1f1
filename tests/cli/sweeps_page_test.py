"""Runs what docs/sweeps.md shows: its shell loops, with less data, in a folder of their own."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, BINARY = (Path(os.environ[name]).resolve() for name in ("PIPETRAIN_SOURCE", "PIPETRAIN_BINARY"))
LESS = "--set data.train_samples=128 --set data.validation_samples=16"
EXPECTED = ["runs/at-once/0.01", "runs/at-once/0.03", "runs/at-once/0.1", "runs/lr/0.01", "runs/lr/0.03",
            "runs/lr/0.1", "runs/schedule/1f1b", "runs/schedule/gpipe", "runs/stages/1", "runs/stages/2",
            "runs/stages/4"]

blocks = re.findall(r"^```sh\n(.*?)^```", (SOURCE / "docs" / "sweeps.md").read_text(), re.M | re.S)
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "configs").symlink_to(SOURCE / "configs")
    (folder / "models").symlink_to(SOURCE / "models")
    (folder / "pipetrain").write_text(f'#!/bin/sh\n[ "$1" != train ] || less="{LESS}"\nexec {BINARY} "$@" $less\n')
    (folder / "pipetrain").chmod(0o755)
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}"}
    printed = ""
    for block in blocks:
        ran = subprocess.run(["sh", "-eu", "-c", block], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
        if ran.returncode != 0:
            sys.exit(f"exit code {ran.returncode} of\n{block}")
        printed += ran.stdout
    finished = sorted(str(path.parent.relative_to(folder)) for path in folder.glob("runs/*/*/model.safetensors"))
    collected = [line for line in printed.splitlines() if re.fullmatch(r"0\.\d+ [\d.e-]+ [\d.e-]+", line)]

if finished != EXPECTED or len(collected) != 3:
    sys.exit(f"{len(blocks)} blocks made {finished} and printed {printed!r}")
print(f"{len(finished)} runs, {len(collected)} results collected")
