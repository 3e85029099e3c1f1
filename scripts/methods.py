"""The schedules that a binary knows."""
import json
import subprocess
from pathlib import Path


def flushes_of(binary: Path | str) -> dict[str, bool]:
    """Name of each schedule -> does it flush?"""
    listed = subprocess.run([binary, "methods", "--json"], check=True, capture_output=True, text=True)
    return {method["name"]: method["flushes"] for method in json.loads(listed.stdout)}
