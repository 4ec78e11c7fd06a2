#!/usr/bin/env python3
"""bench/run/h200_day: what it makes of parts that record, miss goals, fail, are missing or do not end."""
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "bench/run/h200_day"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "bench/tables"))
import record_results  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("h200_day", str(TOOL))
h200_day = importlib.util.module_from_spec(importlib.util.spec_from_loader("h200_day", LOADER))
LOADER.exec_module(h200_day)


class H200Day(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build, self.out = pathlib.Path(folder.name) / "build", pathlib.Path(folder.name) / "out"

    def kinetograph(self, script):
        """A program that has the file after --json as $json."""
        file = self.build / "tools/kinetograph/kinetograph"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('#!/bin/sh\nfor word in "$@"; do [ "$last" = --json ] && json="$word"; last="$word"; done\n'
                        '[ "$json" = - ] && json=/dev/stdout\n' + script)
        file.chmod(0o755)

    def runs(self, *arguments):
        run = subprocess.run([TOOL, self.build, self.out, *arguments], capture_output=True, text=True, check=False)
        report = json.loads((self.out / "h200_day.json").read_text())
        return run, {part["part"]: part for part in report["parts"]}

    def test_the_limits_leave_every_call_below_ten_minutes_and_all_below_what_the_day_says(self):
        seconds = [sum(limit for _, limit, _ in call) for call in h200_day.CALLS]
        self.assertLessEqual(max(seconds), h200_day.CALL_SECONDS)
        self.assertLessEqual(sum(seconds), h200_day.ALL_SECONDS)
        self.assertLess(h200_day.CALL_SECONDS, 600)
        self.assertIn(f" {h200_day.ALL_SECONDS // 60} minutes at most", h200_day.__doc__)

    def test_the_list_has_every_part_with_its_call_and_its_limit(self):
        listed = subprocess.run([TOOL, self.build, self.out, "--list"], capture_output=True, text=True, check=True)
        self.assertEqual(listed.stdout.splitlines(), [f"call {number}: {name}, {limit} s" for number, call in
                                                      enumerate(h200_day.CALLS, 1) for name, limit, _ in call])
        self.assertIn("call 5: families_beside_h200, 240 s", listed.stdout)
        self.assertFalse(self.out.exists())

    def test_families_that_a_part_does_not_measure_are_kept_as_they_are_recorded(self):
        parts = {name: (limit, command) for call in h200_day.CALLS for name, limit, command in call}
        limit, command = parts["families_beside_h200"]
        words = dict(zip(command, command[1:]))
        self.assertLess(float(words["--seconds"]), limit)  # it ends by itself, with a sentence on what did not run
        self.assertTrue((ROOT / "bench/results" / pathlib.Path(words["--keep"]).name).exists())

    def test_every_part_is_a_record_that_has_a_writer_and_a_name_of_its_own(self):
        names = [name for call in h200_day.CALLS for name, _, _ in call]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual({f"{name}.json" for name in names} - set(record_results.WRITERS), set())

    def test_a_part_that_writes_its_json_has_recorded_and_one_that_does_not_has_failed(self):
        self.kinetograph('case "$json" in */conv_h200_832x480.json) echo "lane cuda: no luck" >&2; exit 1;;\n'
                         '*fp16*) echo {} >"$json"; echo "missed: a goal" >&2; exit 1;;\nesac\n'
                         'echo {} >"$json"; echo all well')
        run, parts = self.runs("--call", "2", "--scale", "0.2")
        self.assertEqual(run.returncode, 1)
        self.assertEqual((parts["declared_h200_832x480"]["outcome"], parts["declared_h200_832x480"]["sentence"]),
                         ("recorded", "all well"))
        missed = parts["declared_fp16_h200_832x480"]
        self.assertEqual((missed["outcome"], missed["sentence"]), ("recorded, with failures", "missed: a goal"))
        self.assertEqual((parts["conv_h200_832x480"]["outcome"], parts["conv_h200_832x480"]["sentence"]),
                         ("failed", "lane cuda: no luck"))
        self.assertIn("conv_h200_832x480            failed", run.stdout)

    def test_what_does_not_end_is_stopped_with_what_it_has_started_and_the_rest_runs(self):
        self.kinetograph('case "$*" in *profiler*) sleep 60 & wait;; esac\necho {} >"$json"')
        begin = time.monotonic()
        _, parts = self.runs("--call", "4", "--scale", "0.1")
        self.assertLess(time.monotonic() - begin, 60)
        self.assertEqual(parts["profiler_h200"]["outcome"], "stopped")
        self.assertIn("still running after 12 s", parts["profiler_h200"]["sentence"])
        self.assertEqual(parts["interop_h200"]["outcome"], "recorded")

    def test_a_program_that_is_not_built_is_named(self):
        run, parts = self.runs("--call", "2", "--scale", "0.2")
        self.assertEqual(run.returncode, 1)
        self.assertIn("tools/kinetograph/kinetograph", parts["conv_h200_1280x704"]["sentence"])

    def test_a_later_call_keeps_the_report_of_the_one_before(self):
        self.kinetograph('echo {} >"$json"')
        self.runs("--call", "2", "--scale", "0.2")
        _, parts = self.runs("--call", "3", "--scale", "0.01")
        self.assertIn("decode_h200", parts)
        self.assertEqual(parts["conv_h200_1280x704"]["outcome"], "recorded")

    def test_a_run_of_interop_that_stands_still_is_counted_and_the_others_run(self):
        self.kinetograph('count=$(cat "$0.count" 2>/dev/null || echo 0); echo $((count + 1)) >"$0.count"\n'
                         '[ $count = 0 ] && exec sleep 60\n[ $count = 1 ] && { echo "no luck" >&2; exit 1; }\n'
                         'echo \'{"machine": {"device": "d"},\'\n'
                         'echo \' "decode": {"share_of_interop_and_drawing": {"median": 0.1}}}\'')
        target = self.out.with_suffix(".json")
        subprocess.run([ROOT / "bench/tables/record_results.py", "interop", "--rounds", "3", "--sizes", "8x8",
                        "--seconds", "5", "--output", target, self.build / "tools/kinetograph/kinetograph"], check=True)
        record = json.loads(target.read_text())
        self.assertEqual([run["ended"] for run in record["sizes"]["8x8"]], [False, True, True])
        self.assertEqual((record["ended"], record["sizes"]["8x8"][1]["message"]), (2, "no luck"))
        self.assertEqual(record["sizes"]["8x8"][2]["share_of_interop_and_drawing"], {"median": 0.1})
        self.assertEqual(record["machine"], {"device": "d"})


if __name__ == "__main__":
    unittest.main()
