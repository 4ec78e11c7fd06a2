#!/usr/bin/env python3
"""The runner must find what it is for: each fault below is planted in a copy of one problem of wave_problems, and
named.

    run_problems_test.py EMULATOR CACHE PROBLEMS OBJECT WORK_FOLDER
"""

import json
import os
import shutil
import struct
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
EMULATOR, CACHE, PROBLEMS, OBJECT, WORK = sys.argv[1:6]


class Runner(unittest.TestCase):
    def setUp(self):
        shutil.rmtree(WORK, ignore_errors=True)
        os.makedirs(WORK)
        self.take("conform_mfma_bf16")

    def take(self, kernel):
        with open(os.path.join(PROBLEMS, "problems.json"), encoding="utf-8") as file:
            self.problem = next(p for p in json.load(file) if p["kernel"] == kernel)
        expected = self.problem["expectations"][0]
        files = [expected[key] for key in ("model", "reference") if key in expected]
        for name in [self.problem["parameters"], *self.problem["buffers"].values(), *files]:
            shutil.copy(os.path.join(PROBLEMS, name), WORK)

    def change(self, name, offset, contents):
        with open(os.path.join(WORK, name), "r+b") as file:
            file.seek(offset)
            file.write(contents)

    def runs(self, *options):
        with open(os.path.join(WORK, "problems.json"), "w", encoding="utf-8") as file:
            json.dump([self.problem], file)
        run = subprocess.run([sys.executable, os.path.join(HERE, "run_problems.py"), "--emulator", EMULATOR, "--cache",
                              CACHE, "--problems", WORK, *options, OBJECT], capture_output=True, text=True, check=False)
        return run.returncode, run.stdout + run.stderr

    def finds(self, sentence):
        code, output = self.runs()
        self.assertEqual(code, 1, output)
        self.assertIn(sentence, output)

    def test_a_sound_problem_agrees(self):
        code, output = self.runs()
        self.assertEqual(code, 0, output)
        self.assertIn("1 problems executed, 0 failed", output)

    def test_one_wrong_bit_is_found(self):
        model = self.problem["expectations"][0]["model"]
        with open(os.path.join(WORK, model), "rb") as file:
            word = struct.unpack_from("<I", file.read(), 40)[0]
        self.change(model, 40, struct.pack("<I", word ^ 1))
        self.finds("1 of 256 elements of d differ from the host model's, the first at 10")

    def test_a_wrong_reference_is_found(self):
        self.change(self.problem["expectations"][0]["reference"], 80, struct.pack("<d", 1e4))
        self.finds("d is ")

    def test_a_result_that_is_not_a_number_is_found(self):
        self.change(self.problem["buffers"]["d"], 0, struct.pack("<I", 0x7FC00000))
        self.finds("differ from the host model's, the first at 0: nan instead of")

    def test_a_write_outside_a_buffer_is_found(self):
        self.take("conform_conversions")
        os.truncate(os.path.join(WORK, self.problem["buffers"]["d"]), 1024)
        self.finds("bytes around d were overwritten")

    def test_a_kernel_of_another_name_is_found(self):
        self.problem["kernel"] = "conform_nothing"
        self.finds("no code object has the kernel conform_nothing")

    def test_a_kernel_without_a_problem_is_found(self):
        code, output = self.runs("--every")
        self.assertEqual(code, 1, output)
        self.assertIn("no problem executes conform_mfma_f16", output)
        self.assertNotIn("no problem executes conform_mfma_bf16", output)

    def test_missing_parameters_are_found(self):
        os.truncate(os.path.join(WORK, self.problem["parameters"]), 24)
        self.finds("conform_mfma_bf16 takes 32 bytes of arguments, given 24")

    def test_too_large_workgroups_are_found(self):
        self.problem["block"] = [128, 1, 1]
        self.finds("conform_mfma_bf16: 128 threads a workgroup, compiled for at most 64")


if __name__ == "__main__":
    if not os.path.isdir(EMULATOR):
        print("SKIPPED: no CDNA emulator")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1], verbosity=2)
