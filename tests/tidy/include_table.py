# Who may include whom, from the bottom up: a part may include itself, and what its row names.
# A name is a folder of src/, or one header. docs/architecture.md says why the arrows point this way.
ALLOWED = {
    "base": [],
    "graph": ["base"],
    "program": ["base"],
    # Orders and version policies are pure functions of a program's shape: they see the program's
    # types and its text, and neither each other nor anything that runs.
    "order": ["base", "program/program.hpp", "program/compact_order.hpp", "program/text.hpp"],
    "versions": ["base", "program/program.hpp", "program/compact_order.hpp", "program/text.hpp"],
    "schedules": ["base", "program", "order", "versions"],  # src/schedules.hpp, src/schedules.cpp
    "schedule_program": ["base", "program", "order", "versions", "schedules.hpp"],  # src/schedule_program.cpp
    "replica_rules": ["base", "schedules.hpp"],  # src/replica_rules.cpp
    # src/compact_schedule.hpp, src/compact_schedule.cpp
    "compact_schedule": ["base", "program", "schedules.hpp", "versions"],
    "own_order": ["base", "program", "schedules.hpp", "versions"],  # src/own_order.hpp, src/own_order.cpp
    "config": ["base", "schedules.hpp", "own_order.hpp"],
    "data": ["base", "graph", "config"],
    "plan": ["base", "graph", "config", "program", "schedules.hpp", "compact_schedule.hpp"],
    "backend": ["base", "graph"],
    "transport": ["base", "program/program.hpp", "backend/stream.hpp"],
    "checkpoint": ["base", "graph", "config"],
    "metrics": ["base", "graph", "config", "program", "plan"],
    "machine": ["base"],
    "compile": ["base", "graph", "config", "data/minibatch_order.hpp", "program", "schedules.hpp",
                "own_order.hpp", "plan", "backend", "checkpoint", "machine", "transport/nccl_message.hpp"],
    "stage": ["base", "graph", "config", "program", "schedules.hpp", "backend", "checkpoint", "compile"],
    "runtime": ["base", "graph", "config", "data", "program", "schedules.hpp", "plan", "backend",
                "transport", "checkpoint", "metrics", "machine", "compile", "stage"],
    "decode": ["base", "graph", "config", "data", "program", "backend", "checkpoint", "machine",
               "compile", "stage"],
    "run": ["base", "graph", "config", "data", "program", "schedules.hpp", "own_order.hpp", "plan",
            "backend", "transport", "checkpoint", "metrics", "machine", "compile", "stage", "runtime", "decode"],
    "profile": ["base", "graph", "config", "data", "program", "plan", "backend", "transport", "checkpoint",
                "machine", "compile", "stage", "runtime", "run"],
    "report": ["base", "checkpoint"],
    "app": ["base", "graph", "config", "data", "program", "schedules.hpp", "compact_schedule.hpp", "own_order.hpp", "plan",
            "backend", "transport", "checkpoint", "metrics", "machine", "compile", "stage", "runtime",
            "decode", "run", "profile", "report"],
    "main": ["base", "app", "run/interrupts.hpp", "run/options.hpp"],  # src/main.cpp
}

# Libraries that only some parts may see, so that each has one wrapper and few files pay for it.
LIBRARIES = {
    "toml++/": ["config", "graph", "app"],
    "CLI/": ["app", "main"],
    "nlohmann/": ["program", "data", "plan", "checkpoint", "metrics", "run", "profile", "report", "app"],
    "dnnl": ["backend/cpu"],
    "oneapi/dnnl/": ["backend/cpu"],
    "zlib.h": ["data", "checkpoint"],
    "jpeglib.h": ["data"],
    "jerror.h": ["data"],
    "png.h": ["data"],
    "sentencepiece_": ["data"],
    "nccl.h": ["transport"],
    "mpi.h": ["transport"],
}

# Files of src/ that read what the kernel reports about this machine: the only ones outside base/ that open
# files in ways of their own.
READ_THE_SYSTEM = {"src/machine/cpu_quota.cpp", "src/machine/processor.cpp"}

# Folders of tests/ that mirror no folder of src/: suites across parts.
SUITES = {"golden", "semantics", "faults", "bad_inputs", "cli", "gpu", "fuzz", "tidy", "fake_cuda", "mpi"}
