"""Holds docs/models.md: its table of kinds is that of `pipetrain layers`, and its example trains.

  PIPETRAIN_SOURCE=. PIPETRAIN_BINARY=build/pipetrain python3 tests/cli/models_page_test.py
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE, BINARY = (Path(os.environ[name]).resolve() for name in ("PIPETRAIN_SOURCE", "PIPETRAIN_BINARY"))
LESS = "--set data.train_samples=128 --set data.validation_samples=16"
PAGE = (SOURCE / "docs" / "models.md").read_text(encoding="utf-8")


def kinds_of_page() -> list[tuple[str, str]]:
    table = PAGE.partition("### Kinds")[2].partition("\n## ")[0]
    rows = [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in table.splitlines()
            if line.startswith("| `")]
    return [(row[0], row[1]) for row in rows]


def kinds_of_binary() -> list[tuple[str, str]]:
    printed = subprocess.run([BINARY, "layers", "--json"], check=True, capture_output=True, text=True).stdout
    return [(kind["name"], kind["keys"]) for kind in json.loads(printed)]


def train_example(folder: Path) -> str:
    for name in ("configs", "models"):
        (folder / name).symlink_to(SOURCE / name)
    (folder / "scripts").mkdir()
    (folder / "scripts" / "run").write_text(f'#!/bin/sh\nexec {BINARY} "$@" {LESS}\n')
    (folder / "scripts" / "run").chmod(0o755)
    (block,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    return subprocess.run(["sh", "-eu", "-c", block], cwd=folder, check=True, capture_output=True, text=True).stdout


page, binary = kinds_of_page(), kinds_of_binary()
if page != binary:
    sys.exit(f"docs/models.md and pipetrain layers differ: the page has {sorted(set(page) - set(binary))}, the binary "
             f"{sorted(set(binary) - set(page))}; make the page's table that of `pipetrain layers`, in its order")
with tempfile.TemporaryDirectory() as name:
    out = train_example(Path(name))
    if not (Path(name) / "runs" / "three-blocks" / "model.safetensors").is_file():
        sys.exit(f"the page's example was not trained:\n{out}")
    layers, parameters = re.search(r"all +(\d+) layers +(\d+) ", out).groups()
said = f"It has {layers} layers and {int(parameters):,} parameters."
if said not in PAGE:
    sys.exit(f"docs/models.md should say: {said}")
print(f"{len(page)} kinds, and the example trains")
