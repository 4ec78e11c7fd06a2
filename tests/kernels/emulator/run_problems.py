#!/usr/bin/env python3
"""Executes compiled gfx950 kernels in a CDNA instruction emulator and compares what they leave in memory.

    run_problems.py --emulator CHECKOUT --cache FOLDER --problems FOLDER [--every] [--json FILE] OBJECT.hsaco ...

The problems come from a program of the test suite (problem_folder.hpp): parameters, buffers, the host model's result of
the same source and, where there is one, a reference in fp64. Ends with 1 when a result is not as expected or, with
--every, an object has a kernel without a problem, and says SKIPPED when no emulator is given.
"""

import argparse
import json
import os
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..", "..", "tools", "gfx950")]

import numpy as np  # noqa: E402

import code_object  # noqa: E402
import emulated_gpu  # noqa: E402

WORDS = {"u32": np.uint32, "f32": np.uint32, "bf16": np.uint16, "f16": np.uint16, "f8e4m3": np.uint8}


def values(words, element):
    """The numbers that the bit patterns `words` stand for, in fp64."""
    if element == "u32":
        return words.astype(np.float64)
    if element == "bf16":
        return (words.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if element == "f8e4m3":
        exponent, mantissa = (words >> 3) & 15, (words & 7).astype(np.float64) / 8
        magnitude = np.where(exponent == 0, mantissa * 2.0**-6,
                             (1 + mantissa) * 2.0 ** (exponent.astype(np.float64) - 7))
        return np.where((words & 0x7F) == 0x7F, np.nan, np.where(words & 0x80, -magnitude, magnitude))
    return words.view(np.float32 if element == "f32" else np.float16).astype(np.float64)


def distance(found, wanted):
    """||found - wanted|| / ||wanted||; infinite where one of them has a NaN that the other has not."""
    if np.any(np.isnan(found) != np.isnan(wanted)):
        return float("inf")
    kept = ~np.isnan(wanted)
    with np.errstate(invalid="ignore"):
        difference = np.where(found[kept] == wanted[kept], 0.0, found[kept] - wanted[kept])
    scale = np.linalg.norm(wanted[kept])
    return float(np.linalg.norm(difference) / scale) if scale else float(np.linalg.norm(difference))


def judge(expected, found, folder):
    """(summary, sentence of what is wrong or None) of one buffer's words."""
    element = expected["element"]
    model = np.fromfile(os.path.join(folder, expected["model"]), WORDS[element])
    differing = int((model != found).sum())
    if differing == 0:
        summary = "model: same bits"
    else:
        gap = distance(values(found, element), values(model, element))
        summary = f"model: {gap:.1e}"
        if gap > expected["model_tolerance"] or expected["model_tolerance"] == 0:
            first = int(np.flatnonzero(model != found)[0])
            return summary, (f"{differing} of {found.size} elements of {expected['buffer']} differ from the host "
                             f"model's, the first at {first}: {values(found[first:first + 1], element)[0]:g} instead "
                             f"of {values(model[first:first + 1], element)[0]:g}")
    if "reference" in expected:
        reference = np.fromfile(os.path.join(folder, expected["reference"]), np.float64)
        gap = distance(values(found, element), reference)
        summary += f", fp64 reference: {gap:.1e}"
        if not gap <= expected["reference_tolerance"]:
            return summary, (f"{expected['buffer']} is {gap:.2e} from the reference, at most "
                             f"{expected['reference_tolerance']:.2e} allowed")
    return summary, None


def run(problem, folder, gpu, kernels):
    """(summary, sentence of what is wrong or None) of one problem."""
    if problem["kernel"] not in kernels:
        return "", f"no code object has the kernel {problem['kernel']}"
    buffers = {name: emulated_gpu.Buffer(np.fromfile(os.path.join(folder, file), np.uint8))
               for name, file in problem["buffers"].items()}
    with open(os.path.join(folder, problem["parameters"]), "rb") as file:
        arguments = bytearray(file.read())
    for pointer in problem["pointers"]:
        struct.pack_into("<Q", arguments, pointer["offset"], buffers[pointer["buffer"]].address + pointer["distance"])
    gpu.launch(kernels[problem["kernel"]], problem["kernel"], problem["grid"], problem["block"], bytes(arguments))
    for name, buffer in buffers.items():
        if buffer.stray_writes():
            return "", f"{buffer.stray_writes()} bytes around {name} were overwritten"
    summaries = []
    for expected in problem["expectations"]:
        summary, wrong = judge(expected, buffers[expected["buffer"]].read(WORDS[expected["element"]]), folder)
        summaries.append(summary)
        if wrong:
            return "; ".join(summaries), wrong
    return "; ".join(summaries), None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--emulator", default="", help="checkout of tinygrad; empty: nothing is run")
    parser.add_argument("--cache", required=True, help="folder for the emulator's compiled instructions")
    parser.add_argument("--problems", required=True, help="folder that the problem writer made")
    parser.add_argument("--every", action="store_true", help="fail if a kernel of the objects has no problem")
    parser.add_argument("--json", metavar="FILE", help="file for the counts of problems and kernels")
    parser.add_argument("objects", nargs="*")
    options = parser.parse_args()
    if not options.emulator:
        print("SKIPPED: no CDNA emulator: name a checkout of tinygrad in KINETOGRAPH_CDNA_EMULATOR (CMake cache or "
              "environment)")
        return 0
    try:
        gpu = emulated_gpu.EmulatedGpu(options.emulator, options.cache)
    except emulated_gpu.EmulatorMissing as missing:
        print(f"SKIPPED: {missing}")
        return 0
    print(f"added to the emulator: {', '.join(gpu.extensions)}")
    kernels = {}
    for path in options.objects:
        code = code_object.read_code_object(path)
        kernels.update({kernel.name: code for kernel in code.kernels})
    with open(os.path.join(options.problems, "problems.json"), encoding="utf-8") as file:
        problems = json.load(file)
    idle = sorted(set(kernels) - {problem["kernel"] for problem in problems}) if options.every else []
    for name in idle:
        print(f"FAILED  no problem executes {name}")
    failures = same_bits = 0
    for problem in problems:
        start = time.monotonic()
        summary, wrong = run(problem, options.problems, gpu, kernels)
        failures += wrong is not None
        same_bits += wrong is None and summary.count("model: same bits") == len(problem["expectations"])
        workgroups = "x".join(str(n) for n in problem["grid"])
        print(f"{'FAILED' if wrong else 'agrees'}  {problem['name']}  [{problem['kernel']}, grid {workgroups}, "
              f"{time.monotonic() - start:.1f} s]  {summary}", flush=True)
        if wrong:
            print(f"        {wrong}")
    print(f"{len(problems)} problems executed, {failures} failed")
    if options.json:
        counts = {"problems": len(problems), "drawn": sum("drawn" in problem["name"] for problem in problems),
                  "failed": failures, "same_bits_as_the_model": same_bits,
                  "kernels": len({problem["kernel"] for problem in problems}),
                  "kernels_without_a_problem": len(idle)}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(counts, file)
    return 1 if failures or idle or not problems else 0


if __name__ == "__main__":
    sys.exit(main())
