# Runs a test program on this machine's GPUs, or says in words why it does not (exit code 77: skipped).
#   on_device.py PIPETRAIN PROGRAM [ARGUMENT...]
import json
import os
import subprocess
import sys

pipetrain, *command = sys.argv[1:]
listed = subprocess.run([pipetrain, "devices", "--json"], stdout=subprocess.PIPE, check=True)
cuda = json.loads(listed.stdout)["cuda"]
if not cuda["devices"]:
    print("skipped: " + cuda["why_none"])
    sys.exit(77)
for device in cuda["devices"]:
    print(f"on {device['name']}", flush=True)
sys.exit(subprocess.run(command, env={**os.environ, "PIPETRAIN_TEST_BACKENDS": "cuda"}).returncode)
