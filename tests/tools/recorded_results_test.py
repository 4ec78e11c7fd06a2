"""bench/results holds nothing that no program of the tree could write again, and tools/record_results.py what it says."""
import json
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import performance_tables  # noqa: E402
import record_results  # noqa: E402

# Objects whose keys are names of what was measured, not of figures.
NAMED = {"calls_a_step", "host_us_a_step", "sizes", "results", "fps_steady", "fps_steady_rounds", "ratio_to_pytorch", "psnr_db", "fps_clip",
         "families", "decoders", "goals", "limits", "peers", "parts", "processor_seconds_per_step_bf16", "suites"}


def keys_of(value):
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if not isinstance(value, dict):
        return set()
    keys = set(value)
    for key, inner in value.items():
        keys |= set().union(*map(keys_of, inner.values())) if key in NAMED and isinstance(inner, dict) \
            else keys_of(inner)
    return keys


class RecordedResults(unittest.TestCase):
    def test_every_record_has_a_writer_in_the_tree_that_knows_each_of_its_figures(self):
        records = sorted(path.name for path in (ROOT / "bench/results").glob("*.json"))
        self.assertEqual(records, sorted(record_results.WRITERS))
        for name in records:
            sources = "".join((ROOT / source).read_text() for source in record_results.WRITERS[name])
            keys = keys_of(json.loads((ROOT / "bench/results" / name).read_text()))
            unknown = {key for key in keys if f'"{key}' not in sources.replace('\\"', '"') and f"{key}=" not in sources}
            self.assertEqual(unknown, set(), f"{name}: {record_results.WRITERS[name]} write no such figures")

    def test_the_errors_of_compute_sanitizer_are_counted(self):
        self.assertEqual(record_results.errors_of("========= ERROR SUMMARY: 0 errors\n"), 0)
        self.assertEqual(record_results.errors_of("========= RACECHECK SUMMARY: 3 hazards displayed\n"), 3)
        self.assertIsNone(record_results.errors_of("killed"))

    def test_cases_that_ran_are_kept_with_their_properties(self):
        report = {"testsuites": [{"testsuite": [
            {"name": "Passes", "classname": "A", "status": "RUN", "result": "COMPLETED", "time": "0.25s", "calls": "3"},
            {"name": "Skips", "classname": "A", "status": "RUN", "result": "SKIPPED", "time": "0s"},
            {"name": "Fails", "classname": "A", "status": "RUN", "result": "COMPLETED", "time": "1s", "failures": [{}]},
        ]}]}
        self.assertEqual(record_results.cases_of("a_test", report), [
            {"program": "a_test", "name": "A.Passes", "result": "passed", "seconds": 0.25, "calls": "3"},
            {"program": "a_test", "name": "A.Fails", "result": "failed", "seconds": 1.0}])


class Tables(unittest.TestCase):
    def test_a_figure_that_was_not_measured_is_said_to_be_so(self):
        record = {"routes": [], "seconds_hand_over_one_by_one": 1e-6, "seconds_hand_over_batched": 1e-6, "commit": "c",
                  "command": "", "machine": {"device": "d"},
                  "decode": {"width": 8, "height": 8, "seconds_per_step": {"median": 1.0},
                             "seconds_host": {"median": 1.0}}}
        self.assertIn("| interop and drawing | not measured yet |", performance_tables.interop_table("f", record))
        record["decode"].update(seconds_per_step_decoded_only={"median": 0.75},
                                share_of_interop_and_drawing={"median": 0.25, "min": 0.2, "max": 0.3, "count": 4})
        self.assertIn("| interop and drawing | 25.00 % of the step, 20.00 to 30.00 in 4 rounds |",
                      performance_tables.interop_table("f", record))

    def test_the_profilers_page_says_what_the_records_say(self):
        text = (ROOT / "docs/profiling.md").read_text()
        for table in ("<!-- profiler cpu -->", "<!-- profiler h200 -->"):
            self.assertIn(table, text)
        self.assertEqual(performance_tables.filled(text), text)
        self.assertNotEqual(text.replace("| panels hidden | 0.13 % |", "| panels hidden | 0.23 % |"), text)

    def test_drawing_the_panels_keeps_its_limit(self):
        record = json.loads((ROOT / "bench/results/profiler_cpu.json").read_text())
        for name in ("draw_panels/1000", "draw_a_kept_step/1000"):
            self.assertLess(record["results"][name]["cpu_us_median"], record["limits"]["draw_panels_us"], name)

    def test_the_gfx950_page_says_what_the_emulator_has_executed(self):
        record = json.loads((ROOT / "bench/results/emulator_gfx950.json").read_text())
        suites = record["suites"]
        self.assertEqual({suite["failed"] + suite["kernels_without_a_problem"] for suite in suites.values()}, {0})
        text = (ROOT / "docs/kernels-gfx950.md").read_text()
        wave, conv, passes = (suites[kind]["problems"] for kind in ("wave", "conv", "pass"))
        for sentence in (f"{wave} problems of instruction wrappers", f"{conv} of FourWaveConv, {suites['conv']['drawn']} of them drawn",
                         f"{passes} of the passes, {suites['pass']['drawn']} of them drawn",
                         f"the emulator's {wave + conv + passes} problems", record["kernels_hip_tree"][:9], record["emulator_commit"][:7],
                         f"all {suites['conv']['kernels'] + suites['pass']['kernels']} compiled kernels"):
            self.assertIn(sentence, text)

    def test_the_readme_says_what_the_records_say(self):
        text = (ROOT / "README.md").read_text()
        self.assertIn("<!-- cpu all -->", text)
        changed = text.replace("fp32 6.2", "fp32 7.2")
        self.assertNotEqual(changed, text)
        self.assertEqual(performance_tables.filled(changed), text)


if __name__ == "__main__":
    unittest.main()
