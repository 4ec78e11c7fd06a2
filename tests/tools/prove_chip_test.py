#!/usr/bin/env python3
"""bench/run/prove_chip: a rehearsal on the CPU lane, and what it makes of programs that pass, skip, fail or are
missing."""
import itertools
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest
import unittest.mock

TOOL = pathlib.Path(__file__).resolve().parents[2] / "bench/run/prove_chip"
CONVOLUTION = {"device": "Fake B200", "commit": "0", "relative_l2": 1e-3,
               "dispatch": [{"candidate": "implicit-gemm-sm100", "open": True, "expected_error": 2e-3},
                            {"candidate": "im2col-sm100", "open": False, "expected_error": 2e-3}]}
B200_PROGRAMS = ["gpu/sm100_on_device", "engine/accel/cuda/cuda_test", "gpu/hopper_conformance", "compute/cuda/compute_cuda_conv_test",
                 "compute/cuda/compute_cuda_nn_test", "compute/cuda/compute_cuda_decoder_test",
                 "compute/cuda/sm100/compute_cuda_sm100_test", "compute/cuda/sm100/compute_cuda_sm100_decoder_test"]


PAGES = {"b200": ("kernels-sm100.md", "| layer | launches |"),
         "mi355x": ("kernels-gfx950.md", "| first such layer | launches |")}


def documented_layers(chip):
    """The layers for which the chip's page predicts seconds, by their first pass."""
    page, head = PAGES[chip]
    lines = (TOOL.parents[2] / "docs" / page).read_text().splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(head)) + 2
    rows = itertools.takewhile(lambda line: line.startswith("|"), lines[begin:])
    return {row.split("|")[1].strip() for row in rows}


class ProveChip(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = pathlib.Path(folder.name)

    def program(self, path, script):
        file = self.build / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n" + script + "\n")
        file.chmod(0o755)

    def kinetograph(self, answer=None, exit_code=0):
        answers = self.build / "answer.json"
        answers.write_text(json.dumps(dict(CONVOLUTION, **(answer or {}))))
        self.program("tools/kinetograph/kinetograph", f"cat {answers}; exit {exit_code}")

    def proves(self, chip, *arguments):
        run = subprocess.run([TOOL, chip, self.build, *arguments], capture_output=True, text=True, check=False)
        path = self.build / f"prove_chip/prove_chip_{chip}.json"
        return run, json.loads(path.read_text()) if path.exists() else None

    def test_a_rehearsal_verifies_and_measures_everything_that_needs_no_gpu(self):
        (self.build / "tools/kinetograph").mkdir(parents=True)
        (self.build / "tools/kinetograph/kinetograph").symlink_to(os.environ["KINETOGRAPH_PROGRAM"])
        for chip in ("b200", "mi355x"):
            run, report = self.proves(chip, "--lane", "cpu", "--small")
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertEqual(report["failures"], [])
            self.assertTrue(all(step["outcome"].startswith("left out") for step in report["steps"]))
            self.assertEqual({entry["name"] for entry in report["convolutions"]},
                             {"residual", "wide", "pointwise", "head"})
            self.assertGreater(len({row["layer"] for row in report["layers"]}), 10)
            self.assertTrue(all(row["seconds"] > 0 and "predicted_seconds" in row for row in report["layers"]))
            self.assertEqual({(step["size"], step["sums"]) for step in report["sums"]},
                             {("16x16", "exact"), ("16x16", "fast")})
            self.assertTrue(all(step["seconds"] > 0 for step in report["sums"]))
            self.assertIn("a step's convolutions at 16x16, fast sums: ", run.stdout)
            passes = {row["pass"].removeprefix("decoder.") for row in report["layers"]}
            self.assertEqual(documented_layers(chip) - passes, set())  # each has rows to compare its prediction with
            published = {row["layer"]: row["published_tflops"] for row in report["rows"]}
            self.assertEqual(published["mid C384"], 722 if chip == "mi355x" else None)
            predicted = report["rows"][0]["predicted_tflops"]
            self.assertEqual(predicted is None, chip == "b200")
            self.assertTrue(predicted is None or 0 < predicted[0] < predicted[1])
            self.assertEqual(len(published), 5)
            self.assertGreater(report["decodes"][0]["bench"]["frames"], 0)
            self.assertEqual({part["outcome"] for part in report["parts"]}, {"done"})
            self.assertEqual(len(report["parts"]), 7 if chip == "b200" else 6)
            self.assertFalse(report["on_the_chip"])
            self.assertIn("rehearsed on ", run.stdout)

    def test_programs_that_pass_or_skip_prove_and_one_that_fails_does_not(self):
        self.kinetograph()
        for program in B200_PROGRAMS:
            self.program("tests/" + program, "exit 77" if "hopper" in program else "exit 0")
        run, report = self.proves("b200", "--only-prove")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual([step["outcome"] for step in report["steps"]].count("skipped"), 1)
        self.assertEqual([step["outcome"] for step in report["steps"]].count("passed"), len(B200_PROGRAMS) - 1)
        self.assertEqual({entry["method"] for entry in report["convolutions"]}, {"implicit-gemm-sm100"})

        self.program("tests/" + B200_PROGRAMS[-1], "exit 1")
        run, report = self.proves("b200", "--only-prove")
        self.assertEqual(run.returncode, 1)
        self.assertIn(B200_PROGRAMS[-1], report["failures"][0])

    def test_a_program_that_is_not_built_proves_nothing_on_the_chip(self):
        self.kinetograph({"dispatch": [{"candidate": "four-wave-gfx950", "open": True, "expected_error": 2e-3}]})
        run, report = self.proves("mi355x", "--only-prove")
        self.assertEqual(run.returncode, 1)
        self.assertIn("gfx950_problems is not built", "\n".join(report["failures"]))

    def test_every_form_of_gfx950_is_verified_and_the_wrong_one_named(self):
        dispatch = [{"candidate": name, "open": True, "expected_error": 2e-3}
                    for name in ("four-wave-gfx950", "im2col-gfx950")]
        self.kinetograph({"dispatch": dispatch})
        self.program("tests/gpu/gfx950/gfx950_problems", "exit 0")
        run, report = self.proves("mi355x", "--only-prove")
        forms = {(form["name"], form["method"]) for form in report["forms"]}
        wanted = {("images of 7x7", "four-wave-gfx950:128x256"), ("parts of K", "four-wave-gfx950:128x192@1"),
                  ("tiles of fp8", "four-wave-gfx950:256x96"), ("groups of fp8", "im2col-gfx950"),
                  ("a filter packed on the chip", "four-wave-gfx950")}
        self.assertLessEqual(wanted, forms)
        self.assertFalse(any(form["wrong"] for form in report["forms"]))
        self.kinetograph({"relative_l2": 6e-3, "dispatch": dispatch})
        run, report = self.proves("mi355x", "--only-prove")
        self.assertEqual(run.returncode, 1)
        self.assertIn("groups of fp8 by im2col-gfx950", report["failures"])

    def test_the_stand_in_verifies_every_form_of_gfx950(self):
        library = os.environ.get("KINETOGRAPH_STANDIN_HIP_GFX950")
        if not library:
            self.skipTest("no stand-in with the kernels of gfx950 in this build")
        (self.build / "tools/kinetograph").mkdir(parents=True)
        (self.build / "tools/kinetograph/kinetograph").symlink_to(os.environ["KINETOGRAPH_PROGRAM"])
        with unittest.mock.patch.dict(os.environ, {"KINETOGRAPH_HIP_LIBRARY": library}):
            _, report = self.proves("mi355x", "--only-prove", "--small", "--seconds", "280")
        self.assertTrue(report["on_the_chip"])
        self.assertEqual([failure for failure in report["failures"] if "is not built" not in failure], [])
        self.assertEqual(len(report["forms"]), 13)
        self.assertFalse(any(form["wrong"] for form in report["forms"]))

    def test_on_the_chip_a_build_without_its_kernels_proves_nothing(self):
        self.kinetograph({"dispatch": [{"candidate": "conv2d-sm100", "open": False,
                                        "reason": "no fat binary \"conv2d_frames\" in this build: none"}]})
        run, report = self.proves("b200", "--only-prove")
        self.assertEqual((run.returncode, report["on_the_chip"]), (1, True))
        self.assertIn("residual: no method of the chip is open", report["failures"])

    def test_on_another_device_programs_for_the_chip_need_not_be_built(self):
        self.kinetograph({"device": "Fake H200",
                          "dispatch": [{"candidate": "implicit-gemm-sm90", "open": True, "expected_error": 2e-3},
                                       {"candidate": "conv2d-sm100", "open": False,
                                        "reason": "wants an sm_100 or sm_103 device, met sm_90"}]})
        for program in B200_PROGRAMS[1:]:
            self.program("tests/" + program, "exit 0")
        run, report = self.proves("b200", "--only-prove")
        self.assertEqual((run.returncode, report["on_the_chip"]), (0, False), run.stdout + run.stderr)
        self.assertEqual(report["steps"][0]["outcome"], "left out: not built, and this is a rehearsal")
        self.assertIn("rehearsed on Fake H200", run.stdout)

    def test_a_program_all_of_whose_tests_skip_has_not_passed(self):
        self.kinetograph()
        tests = {"testsuites": [{"testsuite": [{"result": "SKIPPED"}, {"result": "SKIPPED"}]}]}
        for program in B200_PROGRAMS:
            self.program("tests/" + program, f"echo '{json.dumps(tests)}' >${{GTEST_OUTPUT#json:}}")
        _, report = self.proves("b200", "--only-prove")
        self.assertEqual({(step["outcome"], step["tests"], step["skipped"]) for step in report["steps"]},
                         {("skipped", 2, 2)})

    def test_what_takes_too_long_is_stopped_and_the_rest_is_named(self):
        self.kinetograph()
        for program in B200_PROGRAMS:
            self.program("tests/" + program, "exec sleep 60")
        start = time.monotonic()
        run, report = self.proves("b200", "--seconds", "1")
        self.assertLess(time.monotonic() - start, 20)
        self.assertEqual(run.returncode, 1)
        self.assertIn("still running", report["steps"][0]["reason"])
        self.assertEqual({step["outcome"] for step in report["steps"][1:]}, {"left out: out of time"})
        self.assertEqual([part["outcome"] for part in report["parts"]], ["failed"] + 8 * ["left out: out of time"])
        self.assertIn("decoder at 1280x704: out of time", report["failures"])

    def test_a_part_that_gives_no_report_is_named_with_its_reason_and_the_others_run(self):
        answer = self.build / "answer.json"
        answer.write_text(json.dumps(CONVOLUTION))
        self.program("tools/kinetograph/kinetograph",
                     f'if [ "$1" = conv ]; then cat {answer}; else echo "lane cpu: no luck" >&2; exit 1; fi')
        run, report = self.proves("b200", "--lane", "cpu")
        self.assertEqual(run.returncode, 1)
        self.assertEqual([part["outcome"] for part in report["parts"]], ["done", "done", "done"] + 6 * ["failed"])
        self.assertIn("decoding at 832x480: lane cpu: no luck", report["failures"])
        self.assertIn("layers at 1280x704: lane cpu: no luck", report["failures"])

    def test_a_result_that_is_too_far_from_fp64_is_named(self):
        self.kinetograph({"relative_l2": 1e-2})
        run, report = self.proves("b200", "--only-prove", "--lane", "cpu")
        self.assertEqual(run.returncode, 1)
        self.assertEqual(report["failures"][:4],
                         [f"{name} by implicit-gemm-sm100" for name in ("residual", "wide", "pointwise", "head")])
        forms = {failure.split(" by ")[0] for failure in report["failures"][4:]}
        self.assertLessEqual({"fp16 with SiLU", "fp32 output", "cluster 1x4", "three stages", "shared halos"}, forms)
        self.assertEqual(forms, {form["name"] for form in report["forms"]})

    def test_a_kernel_that_its_self_check_closed_is_named(self):
        checks = "3 kernels agreed with fp64 in self-checks"
        self.kinetograph({"accelerators": [{"name": "cpu:0", "self_checks": ""},
                                           {"name": "cuda:0", "self_checks": checks}]})
        for program in B200_PROGRAMS:
            self.program("tests/" + program, "exit 0")
        run, report = self.proves("b200", "--only-prove")
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(report["self_checks"], [{"name": "cuda:0", "self_checks": checks}])
        closed = checks + "; closed: implicit-gemm-sm100:n96: it has a relative error of 0.2"
        self.kinetograph({"accelerators": [{"name": "cuda:0", "self_checks": closed}]})
        run, report = self.proves("b200", "--only-prove")
        self.assertEqual(report["failures"], [f"self-checks of cuda:0: {closed}"])

    def test_without_a_device_nothing_has_run(self):
        self.kinetograph(exit_code=1)
        run, report = self.proves("b200")
        self.assertEqual((run.returncode, report), (77, None))
        self.assertIn("there is no device on the lane cuda", run.stderr)

    def test_a_build_without_the_program_is_refused(self):
        run, _ = self.proves("b200")
        self.assertEqual(run.returncode, 1)
        self.assertIn("kinetograph is not built", run.stderr)


if __name__ == "__main__":
    unittest.main()
