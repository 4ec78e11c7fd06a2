#!/usr/bin/env python3
"""Verifies this build's kernels for NVIDIA GPUs on the GPU of this machine; tools/prove_chip b200 calls it.

tools/sm100/prove_methods.py BUILD_FOLDER [--lane cuda|cpu] [--json FILE]

Runs the conformance programs and the tests that are built, with the GPU's own driver, then small convolutions by every method that
is open on the device, against fp64. Exit code 77 without a device, 1 if anything failed; the JSON has every step, and measured
beside predicted seconds. The lane cpu rehearses the script on a machine without a GPU.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

PROGRAMS = ["tests/gpu/sm100_on_device", "tests/gpu/hopper_conformance", "tests/compute/cuda/compute_cuda_conv_test",
            "tests/compute/cuda/compute_cuda_nn_test", "tests/compute/cuda/compute_cuda_decoder_test",
            "tests/compute/cuda/sm100/compute_cuda_sm100_test", "tests/compute/cuda/sm100/compute_cuda_sm100_decoder_test"]
# What a decoder's layers look like, small enough for sums in fp64 on the host.
CONVOLUTIONS = {"residual": ["1,4,12,20,96", "96,3,3,3", "2,0,1,1,1,1"], "wide": ["1,2,10,12,384", "384,3,3,3", "2,0,1,1,1,1"],
                "pointwise": ["1,1,12,20,192", "384,1,1,1", "0,0,0,0,0,0"], "head": ["1,3,12,20,96", "3,3,3,3", "2,0,1,1,1,1"]}
ALLOWED_ERROR = 2.5  # times the error that the method expects of itself


def passed(command, environment=None):
    """Runs it in this terminal. Its exit code and its seconds."""
    start = time.monotonic()
    code = subprocess.run(command, env=environment, check=False).returncode
    return {"command": " ".join(map(str, command)), "exit_code": code, "seconds": time.monotonic() - start}


def convolution(kinetograph, lane, shape, backend=None):
    """What `kinetograph conv` says of it, as JSON; None, and its reason on standard error, if it fails."""
    activation, taps, padding = shape
    command = [kinetograph, "conv", "--lane", lane, "--dtype", "bf16", "--input", activation, "--filter", taps, "--pad", padding,
               "--json", "-"] + (["--backend", backend] if backend else [])
    run = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    return json.loads(run.stdout) if run.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--lane", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    kinetograph = arguments.build / "tools/kinetograph/kinetograph"
    if not kinetograph.exists():
        sys.exit(f"prove_methods: {kinetograph} is not built")
    first = convolution(kinetograph, arguments.lane, CONVOLUTIONS["residual"])
    if first is None:
        print(f"prove_methods: there is no device on the lane {arguments.lane}: nothing has run", file=sys.stderr)
        return 77

    report = {"device": first["device"], "commit": first["commit"], "steps": [], "convolutions": []}
    if arguments.lane == "cuda":
        environment = dict(os.environ, KINETOGRAPH_CUDA_LIBRARY="libcuda.so.1")
        for program in PROGRAMS:
            if (arguments.build / program).exists():
                report["steps"].append(passed([arguments.build / program], environment))
    for name, shape in CONVOLUTIONS.items():
        for row in (convolution(kinetograph, arguments.lane, shape) or {}).get("dispatch", []):
            if not row["open"]:
                continue
            method = row["candidate"]
            run = convolution(kinetograph, arguments.lane, shape, method)
            wrong = run is None or not run["relative_l2"] <= ALLOWED_ERROR * row["expected_error"]
            report["convolutions"].append({"name": name, "method": method, "wrong": wrong, "run": run})
            print(f"{name:10} {method:24} " + ("failed" if run is None else f"relative L2 {run['relative_l2']:.2e}"))
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    failed = [step["command"] for step in report["steps"] if step["exit_code"] not in (0, 77)]
    failed += [f"{entry['name']} by {entry['method']}" for entry in report["convolutions"] if entry["wrong"]]
    print("\n".join(f"failed: {name}" for name in failed) or f"proven on {report['device']}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
