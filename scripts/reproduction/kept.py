"""Results that are kept in a file as they come, so that the same command continues where it was stopped."""
import json
import math
import os
import pathlib
import time
from concurrent.futures import ThreadPoolExecutor

from whole_file import write_whole


class Kept:
    def __init__(self, file: pathlib.Path):
        self.file = file
        self.parts = json.loads(file.read_text()) if file.exists() else {}

    def keep(self, part: str, value) -> None:
        self.parts[part] = value
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(self.file, json.dumps(self.parts, indent=1, ensure_ascii=False) + "\n")

    def part(self, name: str, make) -> dict | list:
        if name not in self.parts:
            self.keep(name, make())
        return self.parts[name]

    def forget(self, names) -> None:
        for name in names:
            self.parts.pop(name, None)

    def all_of(self, part: str, wanted: dict, make, seconds: float = math.inf) -> dict:
        """`part`, with make(work) for each key of `wanted` that it does not have: one for each core at a time, none that
        would begin after `seconds`."""
        found, end = self.parts.get(part, {}), time.monotonic() + seconds
        new = {key: work for key, work in wanted.items() if key not in found}
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for key, made in zip(new, pool.map(lambda work: make(work) if time.monotonic() < end else None, new.values())):
                if made is not None:
                    found[key] = made
                    self.keep(part, found)
                    print(key, flush=True)
        return found
