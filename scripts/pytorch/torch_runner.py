"""The test program kernel_runner, which runs single kernels and whole models on a backend."""

import subprocess


def run_cases(runner, backend, folders):
    """The error text, or nothing."""
    done = subprocess.run([runner, backend, *folders], capture_output=True, text=True)
    return done.stderr.strip() or f"exit {done.returncode}" if done.returncode else ""


def run_model(runner, backend, form, folder, result, weights=None):
    """kernel_runner's --outputs or --relus of model.toml and images.f32."""
    done = subprocess.run([runner, backend, form, folder / "model.toml",
                           weights or folder / "init.safetensors", folder / "images.f32", result],
                          capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or f"kernel_runner ended with {done.returncode}")
