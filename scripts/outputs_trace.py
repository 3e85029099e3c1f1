"""Compares trace.json of a run with its program.txt: on the JSON itself, and in Perfetto's trace processor.

Every slice is within the one around it, every arrow ends, and each traced step has the
instructions of the program, no more and no fewer.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import subprocess

INSTRUCTION = re.compile(r"(\d+)([A-Z]+)(\d+)")
TRACKS = {"F": "compute", "B": "compute", "I": "compute", "W": "compute", "R": "compute",
          "SA": "send", "SG": "send", "RA": "receive", "RG": "receive", "L": "receive",
          "BH": "compute", "BT": "compute", "BU": "compute", "TU": "compute", "WU": "compute",
          "Y": "update", "U": "update"}


def expected_slices(folder, steps):
    """(stage, track, name) -> how many, from program.txt, which is run once per mini-batch."""
    text = [line for line in (folder / "program.txt").read_text().splitlines() if line[:1].isdigit()]
    counts = collections.Counter()
    for line in text:
        for stage, op, microbatch in INSTRUCTION.findall(line.partition(":")[2]):
            counts[(int(stage), TRACKS[op], op + microbatch)] += steps
    return counts


def check(report, where, folder, first, last):
    expected = expected_slices(folder, last - first + 1)
    arrows = sum(n for (_, track, _), n in expected.items() if track == "send")
    events = json.loads((folder / "trace.json").read_text())["traceEvents"]
    check_json(report, where, events, expected, arrows, set(range(first, last + 1)))
    check_perfetto(report, where, folder / "trace.json", expected, arrows)


# ---- the JSON


def check_json(report, where, events, expected, arrows, steps):
    names = {(e["pid"], e.get("tid")): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    slices = [e for e in events if e["ph"] == "X"]
    found = collections.Counter((e["pid"], names[e["pid"], e["tid"]], e["name"]) for e in slices
                                if e["cat"] != "waiting")
    report.check(found == expected, where,
                 f"trace: {sum(expected.values())} instructions on the tracks of their stages",
                 (found - expected) + (expected - found))
    report.check({e["args"]["step"] for e in slices} == steps, where, "trace: those steps, no others")
    report.check(not misplaced(slices), where, f"trace: {len(slices)} slices nest", misplaced(slices))
    report.check(all(e["args"]["instruction"] != e["name"] for e in slices if e["cat"] == "waiting"), where,
                 "trace: waits name their instruction")
    whole = check_arrows(events, slices)
    report.check(len(whole) == arrows and all(whole.values()), where,
                 f"trace: {arrows} arrows begin in a send, pass its receive and end in what reads it",
                 [number for number, good in whole.items() if not good] or len(whole))


def ns(microseconds):
    return round(microseconds * 1000)


def span(event):
    return ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])


def misplaced(slices):
    """Slices that neither follow the one before on their track nor are inside it."""
    tracks = collections.defaultdict(list)
    for event in slices:
        tracks[event["pid"], event["tid"]].append(event)
    wrong = []
    for events in tracks.values():
        open_ends = []
        for event in sorted(events, key=lambda e: (span(e)[0], -span(e)[1])):
            begin, end = span(event)
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            if open_ends and open_ends[-1] < end:
                wrong.append(event)
            open_ends.append(end)
    return wrong


def check_arrows(events, slices):
    """For each arrow: does it lead from a send over the receive to the reader, all of one micro-batch?"""
    at = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "stf":
            at[event["id"]].append(event)

    def met(point):
        around = [e for e in slices if (e["pid"], e["tid"]) == (point["pid"], point["tid"])
                  and span(e)[0] <= ns(point["ts"]) < span(e)[1]]
        return min(around, key=lambda e: e["dur"], default=None)

    def good(points):
        if [p["ph"] for p in points] != ["s", "t", "f"] or points[2].get("bp") != "e":
            return False
        if not points[0]["ts"] <= points[1]["ts"] <= points[2]["ts"]:
            return False
        hits = [met(p) for p in points]
        if None in hits or len({(h["args"]["step"], h["args"]["microbatch"]) for h in hits}) != 1:
            return False
        kinds = [re.match("[A-Z]+", h["name"]).group() for h in hits]
        forward = kinds == ["SA", "RA", "F"]
        step = 1 if forward else -1
        return ((forward or (kinds[:2] == ["SG", "RG"] and kinds[2] in ("B", "BH", "BU", "I")))
                and [h["pid"] - hits[0]["pid"] for h in hits] == [0, step, step])

    return {number: good(sorted(points, key=lambda p: "stf".index(p["ph"]))) for number, points in at.items()}


# ---- Perfetto


def trace_processor(trace):
    """The loaded trace, or why it cannot be loaded."""
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    binary = os.environ.get("PIPETRAIN_TRACE_PROCESSOR") or shutil.which("trace_processor_shell")
    try:
        return TraceProcessor(trace=str(trace), config=TraceProcessorConfig(bin_path=binary)), ""
    except (OSError, subprocess.SubprocessError) as error:
        if os.environ.get("PIPETRAIN_TRACE_PROCESSOR"):
            raise
        return None, "its download failed" if "curl" in str(error) else str(error).splitlines()[0]


ABSENT = []  # why there is no trace processor, once known


def check_perfetto(report, where, trace, expected, arrows):
    if ABSENT:
        return
    processor, reason = trace_processor(pathlib.Path(trace))
    if not processor:
        ABSENT.append(reason)
        print(f"skipped perfetto        the trace processor is not available here ({reason}); set "
              "PIPETRAIN_TRACE_PROCESSOR", flush=True)
        return

    def rows(query):
        return list(processor.query(query))

    slices = rows("select s.name as name, s.category as category, t.name as track, p.name as stage "
                  "from slice s join thread_track tt on s.track_id = tt.id join thread t using (utid) "
                  "join process p using (upid)")
    found = collections.Counter((int(s.stage.split()[1]), s.track, s.name) for s in slices
                                if s.category != "waiting")
    report.check(found == expected, where, "perfetto: the same slices on the same tracks",
                 (found - expected) + (expected - found))
    outside = rows("select c.name as name from slice c join slice p on c.parent_id = p.id "
                   "where c.ts < p.ts or c.ts + c.dur > p.ts + p.dur")
    report.check(not outside, where, "perfetto: every slice nests", [s.name for s in outside])
    whole = rows("select o.name as a, i.name as b from flow f join slice o on f.slice_out = o.id "
                 "join slice i on f.slice_in = i.id")
    report.check(len(whole) == 2 * arrows, where, f"perfetto: {arrows} arrows, in two parts each", len(whole))
    errors = rows("select name, value from stats where severity in ('error', 'data_loss') and value > 0")
    report.check(not errors, where, "perfetto: no error in its statistics",
                 [(e.name, e.value) for e in errors])
    processor.close()
