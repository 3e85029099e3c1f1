"""Runs the shell blocks of every page in docs/tutorials, in their order, in a copy of what a clone has.

  PIPETRAIN_SOURCE=. PIPETRAIN_BINARY=build/pipetrain python3 tests/cli/tutorials_test.py [PAGE...]
"""
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE, BINARY = (Path(os.environ[name]).resolve() for name in ("PIPETRAIN_SOURCE", "PIPETRAIN_BINARY"))
# What a page must leave, so that a block that does nothing is noticed.
LEAVES = {
    "choose-a-schedule": ["lenet5.json", "choose.html", "runs/choose/pipedream/model.safetensors"],
    "fine-tuning": ["runs/shapes-head/model.safetensors", "runs/shapes-all/report.html", "shapes.html"],
    "gpt-on-your-text": ["runs/my-gpt/model.safetensors", "runs/my-gpt/vocabulary.json"],
    "own-schedule": ["runs/mine/model.safetensors", "runs/published/report.html"],
    "six-schedules": ["six.json", "six.html", "pipedream.svg", "runs/six/pipemare-2/model.safetensors"],
    "your-images": ["runs/pictures/classes.json", "runs/pictures/model.safetensors", "runs/pictures/report.html"],
}


def run_page(page: Path) -> str | None:
    """None, or what was wrong."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("configs", "models", "docs"):
            (folder / part).symlink_to(SOURCE / part)
        (folder / "bin").mkdir()
        (folder / "bin/pipetrain").symlink_to(BINARY)
        environment = os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}"}
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
            ran = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", block], cwd=folder, env=environment,
                                 capture_output=True, text=True, errors="replace")
            if ran.returncode != 0:
                return f"exit code {ran.returncode} of\n{block}\n{ran.stdout[-2000:]}{ran.stderr[-2000:]}"
        missing = [file for file in LEAVES[page.stem] if not (folder / file).is_file()]
        return f"left no {', '.join(missing)}" if missing else None


pages = {page.stem: page for page in sorted((SOURCE / "docs/tutorials").glob("*.md"))}
unknown = [name for name in sys.argv[1:] if name not in pages]
if unknown:
    sys.exit(f"tutorials_test: no page {', '.join(unknown)}; there are {', '.join(pages)}")
failed = 0
for page in [pages[name] for name in sys.argv[1:] or pages]:
    begin = time.monotonic()
    problem = run_page(page)
    failed += problem is not None
    print(f"{page.stem:20} {'FAILED: ' + problem if problem else 'as it says'} ({time.monotonic() - begin:.0f} s)", flush=True)
sys.exit(failed > 0 or len(pages) != len(LEAVES))
