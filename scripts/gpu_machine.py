"""What gpu-check finds on a machine: a GPU, the CUDA toolkit, cuDNN, NCCL and the packed libraries."""

import ctypes
import glob
import os
import pathlib
import shutil
import subprocess
import sys

# What the toolkit does not always include: a header of each library, and how the names of its files begin.
LIBRARIES = {"cublasLt": ("cublasLt.h", "cublas"), "cudnn": ("cudnn.h", "cudnn"), "nccl": ("nccl.h", "nccl")}


def gpu_missing():
    """Why there is no usable GPU, or an empty text. Asks the driver itself."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no NVIDIA driver is installed here (libcuda.so.1 is not found)"
    status = driver.cuInit(0)
    if status:
        return f"the NVIDIA driver sees no GPU (cuInit: error {status})"
    count = ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    return "" if count.value else "the NVIDIA driver sees no GPU"


def prepend(environment, name, *paths):
    kept = [path for path in environment.get(name, "").split(os.pathsep) if path]
    environment[name] = os.pathsep.join([str(path) for path in paths] + kept)


def toolkit_of(environment):
    """The toolkit's folder: that of the nvcc on the PATH, or a usual place."""
    places = [environment.get("CUDA_PATH"), environment.get("CUDA_HOME"), "/usr/local/cuda",
              *sorted(glob.glob("/usr/local/cuda-*"), reverse=True),
              *(path for entry in sys.path for path in glob.glob(f"{entry}/nvidia/cu1*"))]
    found = shutil.which("nvcc", path=environment.get("PATH"))
    if found:
        places.insert(0, pathlib.Path(found).resolve().parent.parent)
    for place in (pathlib.Path(place) for place in places if place):
        if (place / "bin/nvcc").exists() and (place / "include/cuda_runtime_api.h").exists():
            return place
    return None


def links(name, header, toolkit, environment):
    """Does a program find the library by itself, or in the toolkit's folder?"""
    call = ["g++", "-x", "c++", "-", "-o", os.devnull, f"-l{name}"]
    if toolkit:
        call += [f"-I{toolkit}/include", f"-L{toolkit}/lib64", f"-L{toolkit}/lib"]
    done = subprocess.run(call, input=f"#include <{header}>\nint main() {{}}", env=environment, text=True,
                          capture_output=True, check=False)
    return done.returncode == 0


def gather(header, prefix, folder):
    """Links a Python package's files of the library into `folder`, under the names that -l looks for. Links nothing
    else: the package may hold part of a toolkit, and the real toolkit's other headers would not fit it."""
    for entry in sys.path:
        for found in glob.glob(f"{entry}/nvidia/*/include/{header}"):
            package = pathlib.Path(found).parent.parent
            for source in [*package.glob(f"include/{prefix}*"), *package.glob(f"lib/lib{prefix}*.so*")]:
                link(folder / source.parent.name / source.name, source)
                if ".so." in source.name:
                    link(folder / "lib" / (source.name.split(".so.")[0] + ".so"), source)
            return True
    return False


def link(at, target):
    at.parent.mkdir(parents=True, exist_ok=True)
    if not at.is_symlink() and not at.exists():
        at.symlink_to(target)


def environment_for(root, build):
    """The environment in which Meson, the tests and the programs run, and remarks on what is odd."""
    environment, notes = dict(os.environ), []
    packed = root / ".deps"
    if packed.exists():
        environment["PKG_CONFIG"] = str(packed / "bin/pkg-config")
        prepend(environment, "LD_LIBRARY_PATH", packed / "lib")
    else:
        subprocess.run([root / "scripts/setup"], check=True, stdout=subprocess.DEVNULL)
        prepend(environment, "PATH", root / ".venv/bin")
    prepend(environment, "PATH", pathlib.Path(sys.executable).parent)
    if not shutil.which("meson", path=environment["PATH"]):
        prepend(environment, "PATH", root / ".venv/bin")
    for tool in ("meson", "ninja", "g++"):
        if not shutil.which(tool, path=environment["PATH"]):
            notes.append(f"no {tool} is found on the PATH")
    toolkit = toolkit_of(environment)
    if toolkit is None:
        return environment, ["no nvcc is found: put it on the PATH, or set CUDA_PATH"]
    prepend(environment, "PATH", toolkit / "bin")
    prepend(environment, "LD_LIBRARY_PATH", *(path for path in (toolkit / "lib64", toolkit / "lib") if path.exists()))
    environment["CUDA_PATH"] = environment["CUDA_HOME"] = str(toolkit)
    gathered = build / "cuda-libraries"
    for name, (header, prefix) in LIBRARIES.items():
        if links(name, header, toolkit, environment):
            continue
        if not gather(header, prefix, gathered):
            notes.append(f"{name} is not found, neither in {toolkit} nor among Python's packages")
    if gathered.exists():
        prepend(environment, "CPATH", gathered / "include")
        prepend(environment, "LIBRARY_PATH", gathered / "lib")
        prepend(environment, "LD_LIBRARY_PATH", gathered / "lib")
    return environment, notes
