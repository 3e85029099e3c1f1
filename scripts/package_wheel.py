"""Makes a wheel from a prefix with bin, lib and share: package_wheel.py PREFIX VERSION FOLDER prints the file's name.

pip puts the wheel's data under the prefix of the environment, where the binary finds its libraries relative to itself.
"""
import base64
import hashlib
import platform
import sys
import zipfile
from pathlib import Path

METADATA = """Metadata-Version: 2.1
Name: pipetrain
Version: {version}
Summary: trains neural networks by pipeline parallelism
License: MIT
Requires-Python: >=3.8

One program, driven by TOML files, with every published pipeline schedule, synchronous and asynchronous.
This package computes on CPUs. Configs and models to begin with are in share/pipetrain of the environment.
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: pipetrain\nRoot-Is-Purelib: false\nTag: {tag}\n"


def entries(prefix: Path, name: str) -> dict[str, Path]:
    """Where each file of the prefix goes in the wheel."""
    found = {}
    for path in sorted(prefix.rglob("*")):
        inside = path.relative_to(prefix)
        if path.is_file():
            kind = ("scripts/" + path.name) if inside.parts[0] == "bin" else f"data/{inside}"
            found[f"{name}.data/{kind}"] = path
    return found


def main() -> None:
    prefix, version, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    name = f"pipetrain-{version}"
    glibc = platform.libc_ver()[1].replace(".", "_")
    tag = f"py3-none-manylinux_{glibc}_{platform.machine()}"
    wheel, record = folder / f"{name}-{tag}.whl", []

    def add(archive: zipfile.ZipFile, where: str, content: bytes, mode: int = 0o644) -> None:
        info = zipfile.ZipInfo(where, date_time=(1980, 1, 1, 0, 0, 0))
        info.external_attr, info.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
        archive.writestr(info, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{where},sha256={digest},{len(content)}")

    with zipfile.ZipFile(wheel, "w") as archive:
        for where, path in entries(prefix, name).items():
            add(archive, where, path.read_bytes(), 0o755 if "/scripts/" in where else 0o644)
        add(archive, f"{name}.dist-info/METADATA", METADATA.format(version=version).encode())
        add(archive, f"{name}.dist-info/WHEEL", WHEEL.format(tag=tag).encode())
        record.append(f"{name}.dist-info/RECORD,,")
        archive.writestr(f"{name}.dist-info/RECORD", "\n".join(record) + "\n")
    print(wheel)


main()
