"""What the pages about plans share: PipeDream's profiles, and `pipetrain plan` on them."""
import json
import pathlib
import re
import subprocess
import sys

from page import BINARY
from places import extras

PROFILES = extras() / "data/pipedream-profiles"
MODELS = {"VGG-16": "vgg16", "ResNet-50": "resnet50", "GNMT": "gnmt"}
GIB = 1 << 30


def require_profiles() -> None:
    """Without the profiles there is nothing to do, which is not an error."""
    missing = [name for name in MODELS.values() if not (PROFILES / f"{name}.graph.txt").is_file()]
    if missing:
        print(f"skipped: {PROFILES} has no {missing[0]}.graph.txt; set PIPETRAIN_EXTRAS to a folder whose "
              "data/pipedream-profiles has the profiles that PipeDream's authors released", file=sys.stderr)
        raise SystemExit(0)


def plan(model: str, *options: str) -> dict:
    done = subprocess.run([BINARY, "plan", "--profile", str(PROFILES / f"{MODELS[model]}.graph.txt"), *options, "--json"],
                          capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def replicas(found: dict) -> str:
    """15-1, straight, or 16: a whole model on each device."""
    counts = [stage["replicas"] for stage in found["stages"]]
    if len(counts) == 1:
        return str(counts[0])
    return "straight" if set(counts) == {1} else "-".join(map(str, counts))


def largest_gib(found: dict) -> float:
    return max(stage["memory_bytes"] or 0 for stage in found["stages"]) / GIB


def layers(model: str) -> dict[str, tuple[float, float]]:
    """For each node of a graph.txt, the bytes of a mini-batch's activations, and of parameters."""
    number = r"=([\d.e+-]+)"
    found = {}
    for line in (PROFILES / f"{MODELS[model]}.graph.txt").read_text().splitlines():
        if match := re.match(rf"(node\d+) -- .*activation_size=(\[.*\]|[^,]*), parameter_size{number}", line):
            activations = sum(float(part) for part in re.findall(r"[\d.e+-]+", match[2]))
            found[match[1]] = (activations, float(match[3]))
    return found
