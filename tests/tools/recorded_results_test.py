"""bench/results holds nothing that no program of the tree could write again, and bench/tables/record_results.py what it
says."""
import json
import re
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/tables"))
import performance_tables  # noqa: E402
import record_results  # noqa: E402

# Objects whose keys are names of what was measured, not of figures.
NAMED = {"calls_a_step", "host_us_a_step", "sizes", "results", "fps_steady", "fps_steady_rounds", "ratio_to_pytorch",
         "psnr_db", "fps_clip", "fps_clip_range", "families", "decoders", "goals", "kinds", "seconds_per_step_of_sums",
         "predicted_seconds_per_step_of_sums", "limits", "peers", "parts", "processor_seconds_per_step_bf16", "suites"}


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


class Commit(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        patch = mock.patch.object(record_results, "ROOT", self.folder)  # no git checkout
        patch.start()
        self.addCleanup(patch.stop)

    def program(self, path, said):
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'#!/bin/sh\n[ "$*" = --version ] && echo "{said}"\n')
        file.chmod(0o755)
        return file

    def test_outside_a_checkout_it_is_the_one_that_the_program_of_the_build_states(self):
        self.program("build/tools/kinetograph/kinetograph", f"kinetograph 0.1.0 ({'c0ffee1234' * 4}-dirty)")
        for program in ("build", "build/tests/compute/some_test", "build/tools/kinetograph/kinetograph"):
            self.assertEqual(record_results.commit([self.folder / program]), "c0ffee1234" * 4 + "-dirty")
        alone = self.program("copied/kinetograph", f"kinetograph 0.1.0 ({'0123456789' * 4})")
        self.assertEqual(record_results.commit([alone]), "0123456789" * 4)

    def test_a_record_without_one_is_refused(self):
        unknown = self.program("build/tools/kinetograph/kinetograph", "kinetograph 0.1.0 (unknown)")
        for program in (unknown, self.folder / "nowhere/some_test"):
            with self.assertRaisesRegex(SystemExit, "no commit to record: .* is no git checkout"):
                record_results.commit([program])


class RecordedResults(unittest.TestCase):
    def test_every_record_has_a_writer_in_the_tree_that_knows_each_of_its_figures(self):
        records = sorted(path.name for path in (ROOT / "bench/results").glob("*.json"))
        self.assertEqual(set(records) - set(record_results.WRITERS), set())
        day = (ROOT / "bench/run/h200_day").read_text()
        for name in set(record_results.WRITERS) - set(records):  # which the next day on an H200 records
            self.assertIn('"' + re.sub("(_(1280x704|832x480))?[.]json$", "", name) + '"', day)
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
    def test_a_command_is_said_by_the_path_of_today(self):
        for recorded, today in (("tools/compare_pytorch.py --record", "bench/peers/compare_pytorch.py --record"),
                                ("build/release/bench/graph_bench", "build/release/bench/micro/graph_bench"),
                                ("kinetograph bench conv", "kinetograph bench conv")):
            self.assertEqual(performance_tables.command_of({"command": recorded}), today)

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

    def made_up(self, records):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        for name, record in records.items():
            (Path(folder.name) / name).write_text(json.dumps(record))
        patch = mock.patch.object(performance_tables, "RESULTS", Path(folder.name))
        patch.start()
        self.addCleanup(patch.stop)

    def test_declared_launches_are_joined_to_layers_beside_cudnn(self):
        def launch(name, epilogue, layers, exact, fast, seconds):
            return {"part_of": name, "epilogue": epilogue, "layers_alike": layers,
                    "sums": {"exact": dict(zip(("backend", "launches"), exact)),
                             "fast": dict(zip(("backend", "launches"), fast))},
                    "backends": [{"backend": key, "seconds": value, "predicted_seconds": predicted}
                                 for key, (value, predicted) in seconds.items()]}
        head = {"commit": "c0ffee", "command": "", "machine": {"device": "d"}}
        ours = {**head, "predicted_seconds_per_step_of_sums": {"exact": 0.0085, "fast": None}, "layers": [
            # Three layers in two parts each; a head that begins with sums, goes on and keeps some.
            launch("96>96", "residual", 3, ("direct", 6), ("winograd", 6),
                   {"direct": (1e-3, 0.9e-3), "winograd": (0.8e-3, None)}),
            *(launch("96>3", "", 1, ("narrow", 1), ("narrow", 1), {"narrow": (seconds, 0.5e-3)})
              for seconds in (1e-3, 2e-3))]}
        cudnn = {**head, "layers": [{"layer": "96>96", "seconds": 4e-3}, {"layer": "96>3", "seconds": 6e-3}]}
        self.made_up({"cudnn_h200_8x8.json": cudnn})
        self.assertEqual(performance_tables.declared("8x8"), [])  # nothing is said of what is not recorded
        self.made_up({"declared_h200_8x8.json": ours, "cudnn_h200_8x8.json": cudnn})
        rows = [line for line in performance_tables.declared("8x8") if line.startswith("| ")][1:]
        self.assertEqual(rows, [
            "| 96>96 | residual | 3 | direct | 6.000 | 5.400 | 2.00 | 4.800 | - | 2.50 | 12.000 |",
            "| 96>3 | bias | 1 | narrow | 3.000 | 1.000 | 2.00 |  |  |  | 6.000 |",
            "| all of a step |  | 4 |  | 9.000 | 8.500 | 2.00 | 7.800 | - | 2.31 | 18.000 |"])
        ours["layers"][0]["backends"][0] = {"backend": "direct", "error": "no luck"}
        self.made_up({"declared_h200_8x8.json": ours, "cudnn_h200_8x8.json": cudnn})
        rows = [line for line in performance_tables.declared("8x8") if line.startswith("| ")][1:]
        self.assertIn("| direct | none ran | - |  | 4.800 |", rows[0])
        self.assertIn("| all of a step |  | 4 |  | none ran |", rows[-1])

    def test_a_floor_counts_what_a_layer_multiplies_or_its_bytes(self):
        cudnn = {"matmul_bf16_tflops": 1e-12, "copy_bytes_per_second": 1.0, "layers": [
            {"layer": "a 3x3x3, 4", "launches": 2, "flops": 9.0, "bytes": 1.0},
            {"layer": "b 1x3x3, 4", "launches": 1, "flops": 9.0, "bytes": 1.0},
            {"layer": "c 1x1x1, 4", "launches": 1, "flops": 1.0, "bytes": 5.0}]}
        self.assertAlmostEqual(performance_tables.floor_of(cudnn, 1.0, set()), 2 * 9 + 4 + 5)
        self.assertAlmostEqual(performance_tables.floor_of(cudnn, 4 / 6, {"a 3x3x3, 4"}), 2 * 6 + 4 + 5)

    def test_the_profilers_page_says_what_the_records_say(self):
        text = (ROOT / "docs/profiling.md").read_text()
        for table in ("<!-- profiler cpu -->", "<!-- profiler h200 -->"):
            self.assertIn(table, text)
        self.assertEqual(performance_tables.filled(text), text)
        changed = re.sub(r"(\| panels hidden \| )[0-9.]+ %", r"\g<1>99 %", text)
        self.assertNotEqual(changed, text)
        self.assertEqual(performance_tables.filled(changed), text)

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
        for sentence in (f"{wave} problems of instruction wrappers",
                         f"{conv} of FourWaveConv, {suites['conv']['drawn']} of them random",
                         f"{passes} of the passes, {suites['pass']['drawn']} of them random",
                         f"the emulator's {wave + conv + passes} problems", record["kernels_hip_tree"][:9],
                         record["emulator_commit"][:7],
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
