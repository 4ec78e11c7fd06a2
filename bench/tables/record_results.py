#!/usr/bin/python3
"""Records results that programs only print as text, as JSON for bench/results.

    bench/tables/record_results.py suite --name tests/engine/accel --device "NVIDIA H200, ..." --output FILE.json
                                   PROGRAM ...
        reports of GoogleTest programs: every case that ran, with its recorded properties; with --sanitizer FILTER also
        compute-sanitizer's findings in the cases of that filter
    bench/tables/record_results.py graph --output bench/results/graph_compile.json build/release/bench/micro/graph_bench
        medians of the graph compiler's benchmark
    bench/tables/record_results.py profiler --output bench/results/profiler_cpu.json
                                   build/release/bench/micro/profile_bench build/release/bench/micro/overlay_bench
        the same of the profiler's: what recording a span and drawing the panels cost the CPU
    bench/tables/record_results.py decode --output bench/results/decode_alone_h200.json build/release/.../kinetograph
        `bench decode` at both sizes, without PyTorch beside it
    bench/tables/record_results.py compare --output bench/results/compare_h200.json BEFORE AFTER
        two builds of the program in turn, ROUNDS times: rates and memory of `bench decode`, the host's work, hand-overs
        and the cost of drawing of `bench interop`, at both sizes
    bench/tables/record_results.py families --output bench/results/families_h200.json build/release/.../kinetograph
        the same of every family, in the type that each is used in
    bench/tables/record_results.py sums --output bench/results/sums_h200.json build/release/.../kinetograph
        exact, fast and int8 sums in each type, and with two and four latent frames a step: rates of `bench decode`, and
        joules a frame, at both sizes
    KINETOGRAPH_CDNA_EMULATOR=CHECKOUT bench/tables/record_results.py emulator
                                     --output bench/results/emulator_gfx950.json build/release
        the compiled gfx950 kernels in the instruction emulator: how many problems were executed, drawn and failed
    bench/tables/record_results.py interop --rounds 20 --output bench/results/interop_runs_h200.json
                                    build/release/.../kinetograph
        whether so many runs of `bench interop` with a decoder end, at both sizes, and what interop and drawing take
    bench/tables/record_results.py pictures --output bench/results/pictures_cpu.json
                                   build/release/.../kinetograph [BEFORE]
        exact and fast sums on the CPU: PSNR against fp32's exact sums, and processor time of a step of a demo clip in
        turn, ROUNDS times: of both sums, of exact ones whose doubled inputs a pass makes, and of BEFORE's exact ones
    bench/tables/record_results.py preview --output bench/results/preview_cpu.json build/release/.../kinetograph
        the tiny decoder of the demo clips on two threads of the CPU: rate, and processor time of a frame

Programs write the other files in bench/results themselves; WRITERS lists which.
"""
import argparse
import array
import ctypes
import json
import math
import os
import re
import resource
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SIZES = ("832x480", "1280x704")

# The sources that write a record: a recorder here and, for `suite`, the tests whose properties it keeps.
BENCH = "tools/kinetograph/bench_command.cpp"
SELF = "bench/tables/record_results.py"
CONV = ["tools/kinetograph/bench_conv.cpp", BENCH]
# Results of bench/run/h200_day that bench/results does not have yet are listed too.
WRITERS = {
    "accel_cuda_h200.json": [SELF],
    "compare_h200.json": [SELF, "tools/kinetograph/bench_decode.cpp", BENCH],
    "compare_house_h200.json": [SELF, "tools/kinetograph/bench_decode.cpp", BENCH],
    "compare_loop_h200.json": [SELF, "tools/kinetograph/bench_decode.cpp", BENCH],
    "compute_sm90_h200.json": [SELF, "tests/compute/cuda/sm90/convolution_test.cpp"],
    "compute_cuda_h200.json": [SELF, "tests/compute/cuda/convolution_test.cpp"],
    "conv_h200_1280x704.json": CONV,
    "conv_h200_832x480.json": CONV,
    "cudnn_h200_1280x704.json": ["bench/peers/pytorch_layers.py", "bench/peers/pytorch_decoder.py"],
    "cudnn_h200_832x480.json": ["bench/peers/pytorch_layers.py", "bench/peers/pytorch_decoder.py"],
    "declared_fp16_h200_1280x704.json": CONV,
    "declared_fp16_h200_832x480.json": CONV,
    "declared_h100_1280x704.json": CONV,
    "declared_h200_1280x704.json": CONV,
    "declared_h200_832x480.json": CONV,
    "declared_wan22_h200.json": CONV,
    **{f"clips_{of}_h200.json": ["tools/kinetograph/bench_clips.cpp", BENCH]
       for of in ("taew21_512x320", "taew21_832x480", "wan21_1280x704", "wan21_832x480", "wan21_832x480_24fps")},
    "decode_1920x1088_h200.json": ["tools/kinetograph/bench_decode.cpp", BENCH],
    "decode_alone_h200.json": [SELF, "tools/kinetograph/bench_decode.cpp", BENCH],
    "decode_cpu.json": ["bench/peers/compare_pytorch.py"],
    **{f"decode_{sums}_{size}_{chip}.json": ["tools/kinetograph/bench_decode.cpp", BENCH]
       for sums in ("exact", "fast") for size in ("1280x704", "832x480") for chip in ("h100", "h200")},
    **{f"decode_int8_{size}_h200.json": ["tools/kinetograph/bench_decode.cpp", BENCH]
       for size in ("1280x704", "832x480")},
    **{f"decode_flux1_{size}_h200.json": ["tools/kinetograph/bench_decode.cpp", BENCH]
       for size in ("1024x1024", "2048x2048")},
    "decode_h200.json": ["bench/peers/compare_pytorch.py", "bench/peers/pytorch_decoder.py",
                         "tools/kinetograph/bench_decode.cpp", BENCH],
    "decode_vulkan_h200_1280x704.json": ["tools/kinetograph/bench_decode.cpp", BENCH],
    "decode_vulkan_h200_832x480.json": ["tools/kinetograph/bench_decode.cpp", BENCH],
    "decoder_sm90_h200.json": [SELF, "tests/compute/cuda/decoder_golden_test.cpp"],
    **{f"decode_wan22_{sums}_{size}_h200.json": ["tools/kinetograph/bench_decode.cpp", BENCH]
       for sums in ("fast", "int8") for size in SIZES},
    "encode_h200.json": ["bench/run/encode"],
    "emulator_gfx950.json": [SELF, "tests/kernels/emulator/run_problems.py"],
    "families_beside_h200.json": ["bench/peers/compare_families.py", "bench/peers/peer_rates.py",
                                  "bench/peers/pytorch_decoder.py",
                                  "tools/kinetograph/bench_decode.cpp", BENCH],
    "families_h200.json": [SELF, "tools/kinetograph/bench_decode.cpp", BENCH],
    "graph_compile.json": [SELF],
    "hopper_conformance_h200.json": ["tests/gpu/hopper_conformance.cpp"],
    "hopper_conformance_model.json": ["tests/gpu/hopper_model_test.cpp"],
    "interop_h200.json": ["tools/kinetograph/bench_interop.cpp", BENCH],
    "interop_one_device_h200.json": ["tools/kinetograph/bench_interop.cpp", BENCH],
    "interop_runs_h200.json": [SELF, "tools/kinetograph/bench_interop.cpp", BENCH],
    "large_sm90_h200.json": [SELF],
    "long_fast_h200.json": ["tools/kinetograph/bench_interop.cpp", "tools/kinetograph/soak.cpp", BENCH],
    "long_h200.json": ["tools/kinetograph/bench_interop.cpp", "tools/kinetograph/soak.cpp", BENCH],
    "losses_h200.json": [SELF, "tests/gpu/losses_test.cpp"],
    "pictures_cpu.json": [SELF, BENCH],
    "preview_cpu.json": [SELF, BENCH],
    "prove_chip_b200_h200.json": ["bench/run/prove_chip", *CONV, "tools/kinetograph/conv_command.cpp",
                                 "tools/kinetograph/bench_decode.cpp"],
    "python_h200.json": ["bench/run/python_on_gpu.py", BENCH],
    "profiler_cpu.json": [SELF],
    "profiler_h200.json": ["tools/kinetograph/bench_profiler.cpp", BENCH],
    "sanitizer_sm90_h200.json": [SELF, "tests/compute/cuda/sm90/convolution_test.cpp"],
    "serve_h200.json": ["bench/run/serve_load.py"],
    "soak_h200.json": ["tools/kinetograph/bench_interop.cpp", "tools/kinetograph/soak.cpp", BENCH],
    "several_h200_x2.json": ["bench/run/several_gpus", "tools/kinetograph/bench_decode.cpp", BENCH],
    "sums_h200.json": [SELF, "tools/kinetograph/bench_decode.cpp", BENCH],
    "stream_cuda_h200.json": [SELF, "tests/compute/stream/cuda_stream_test.cpp"],
}


def printed(*command):
    """What the command prints; nothing if it fails or does not exist."""
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def commit(programs):
    """This tree's commit by git; outside a checkout that of the kinetograph program among `programs`, or in the build
    that they belong to. Exits if none is known."""
    found = printed("git", "-c", "safe.directory=*", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=40",
                    "--exclude=*")
    if found:
        return found
    folders = [folder for program in programs for folder in (Path(program), *Path(program).resolve().parents)]
    for candidate in (path for folder in folders for path in (folder, folder / "tools/kinetograph/kinetograph")):
        stated = candidate.name == "kinetograph" and re.search(r"\(([0-9a-f]{40}(-dirty)?)\)",
                                                               printed(candidate.resolve(), "--version"))
        if stated:
            return stated.group(1)
    return sys.exit(f"no commit to record: {ROOT} is no git checkout, and no kinetograph program beside "
                    f"{', '.join(map(str, programs))} states one")


def run_for_json(command, option, environment=None):
    """The JSON that `command` writes to the file named by `option`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        subprocess.run([*map(str, command), f"{option}{path}"], check=False, stdout=subprocess.DEVNULL,
                       env=environment)
        return json.loads(path.read_text())


def cases_of(program, report):
    """The cases of GoogleTest's report that ran."""
    known = {"name", "classname", "status", "result", "time", "timestamp", "file", "line", "failures", "value_param"}
    cases = []
    for suite in report["testsuites"]:
        for case in suite["testsuite"]:
            if case["result"] != "COMPLETED":
                continue
            cases.append({"program": program, "name": f"{case['classname']}.{case['name']}",
                          "result": "failed" if "failures" in case else "passed",
                          "seconds": float(case["time"].rstrip("s")),
                          **{key: value for key, value in case.items() if key not in known}})
    return cases


def suite(options):
    cases = []
    for program in options.programs:
        cases += cases_of(Path(program).name, run_for_json([program, f"--gtest_filter={options.filter}"],
                                                           "--gtest_output=json:", os.environ))
    record = {"suite": options.name, "device": options.device, "cases": cases}
    if options.sanitizer:
        record["sanitizer_command"] = "compute-sanitizer --tool TOOL PROGRAM --gtest_filter=FILTER"
        record["sanitizer"] = [{"tool": tool, "program": Path(program).name, "commit": options.commit,
                                "filter": options.sanitizer, "errors": sanitize(tool, program, options.sanitizer)}
                               for program in options.programs for tool in ("memcheck", "racecheck")]
    return record


def errors_of(report):
    """The count in a report of compute-sanitizer; None if it did not finish."""
    found = re.search(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) ", report)
    return int(found.group(1)) if found else None


def sanitize(tool, program, tests):
    return errors_of(subprocess.run(["compute-sanitizer", "--tool", tool, program, f"--gtest_filter={tests}"],
                                    check=False, capture_output=True, text=True).stdout)


def cpu_model():
    return next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                 if line.startswith("model name")), "a CPU")


def benchmarks(options):
    """Microseconds of every benchmark of the programs, and the machine that they ran on."""
    runs = {}
    for program in options.programs:
        report = run_for_json([program, "--benchmark_repetitions=15", "--benchmark_min_time=0.1",
                               "--benchmark_out_format=json"], "--benchmark_out=")
        for run in report["benchmarks"]:
            if run.get("run_type") == "iteration":
                runs.setdefault(run["run_name"], []).append(run)
    us = {"ns": 1e-3, "us": 1.0, "ms": 1e3}
    return {"machine": f"{cpu_model()}, {report['context']['num_cpus']} processors",
            "note": f"load {report['context']['load_avg']}: CPU time is the figure",
            "results": {name: {"cpu_us_median": statistics.median(run["cpu_time"] * us[run["time_unit"]]
                                                                  for run in repeats),
                               "cpu_us_min": min(run["cpu_time"] * us[run["time_unit"]] for run in repeats),
                               "wall_us_min": min(run["real_time"] * us[run["time_unit"]] for run in repeats)}
                        for name, repeats in runs.items()}}


def graph(options):
    measured = benchmarks(options)
    measured["results"] = {name.split("/")[0]: result for name, result in measured["results"].items()}
    return {"what": "1,000 passes on four lanes: declaring the frame, compiling its plan, starting a known plan again",
            **measured, "limits": {"compile_plan_us": 2000, "reuse_plan_us": 20}}


def profiler(options):
    return {"what": "recording a span; taking over a step of so many passes; drawing all six panels of so many passes "
                    "with two captures compared, the same with a kept step, and the compact HUD, sixty pictures a "
                    "second with ten steps",
            **benchmarks(options), "limits": {"record_span_us": 0.1, "draw_panels_us": 500}}


def decode(options):
    return {"sizes": {size: run_for_json([*options.programs, "bench", "decode", "--lane", "cuda", "--weights",
                                          "synthetic:wan2.1", "--size", size, "--no-passes", "--rounds", "3", "--json"],
                                         "") for size in SIZES}}


# Figures that are kept of `bench decode`, and of `bench interop` with a decoder.
DECODE_FIGURES = ("seconds_per_step", "fps_steady", "peak_device_bytes", "seconds_first_frame_after_load")
FAST_FIGURES = ("seconds_per_step_of_fast_sums", "fps_steady_of_fast_sums", "peak_device_bytes_of_fast_sums",
                "seconds_first_frame_after_load_of_fast_sums")
INTEROP_FIGURES = ("seconds_hand_over_one_by_one", "seconds_hand_over_batched")
PRESENTED_FIGURES = ("seconds_host", "seconds_host_decoder")


def measure_for_comparison(program, size, decode_only):
    """One round of a program: commit and machine of its report, and its figures."""
    of_both = ["--lane", "cuda", "--weights", "synthetic:wan2.1", "--size", size]
    decode_of = [program, "bench", "decode", *of_both, "--no-passes", "--rounds", "3"]
    decoded = run_for_json([*decode_of, "--json"], "")
    about, figures = {key: decoded[key] for key in ("commit", "machine")}, {key: decoded[key] for key in DECODE_FIGURES}
    if decode_only:
        fast = run_for_json([*decode_of, "--sums", "fast", "--json"], "")
        return about, {**figures, **{of_fast: fast[key] for of_fast, key in zip(FAST_FIGURES, DECODE_FIGURES)}}
    drawn = run_for_json([program, "bench", "interop", *of_both, "--decode-steps", "40", "--json"], "")
    figures = {**figures, **{key: drawn[key] for key in INTEROP_FIGURES},
               **{key: drawn["decode"][key]["median"] for key in PRESENTED_FIGURES},
               "seconds_per_drawn_step": drawn["decode"]["seconds_per_step"]["median"]}
    # The part of a step with drawing and interop that a step of `bench decode` does not take.
    figures["share_of_interop_and_drawing"] = 1 - figures["seconds_per_step"] / figures["seconds_per_drawn_step"]
    return about, figures


def compare(options):
    """Figures of two programs in turn: medians and spreads of the rounds, and the median of the rounds' ratios."""
    programs = dict(zip(("before", "after"), options.programs, strict=True))
    about, sizes = {}, {}
    for size in SIZES:
        rounds = {which: [] for which in programs}
        for i in range(options.rounds):
            for which in sorted(programs, reverse=i % 2 == 0):
                about[which], figures = measure_for_comparison(programs[which], size, options.decode_only)
                rounds[which].append(figures)
        sizes[size] = {key: compared(*([figures[key] for figures in rounds[which]] for which in programs))
                       for key in rounds["before"][0]}
    return {"commit": about["after"]["commit"], "commit_before": about["before"]["commit"],
            "machine": about["after"]["machine"], "rounds": options.rounds, "sizes": sizes}


def spread(values):
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def compared(before, after):
    return {"before": spread(before), "after": spread(after),
            "ratio": spread([new / old for old, new in zip(before, after)])}


FAMILIES = (("taew2.1", "fp16"), ("taew2.2", "fp16"), ("taehv1.5", "fp16"), ("wan2.1,dim=24", "bf16"),
            ("wan2.2", "bf16"), ("wan2.1", "bf16"))


def families(options):
    return {"decoders": [{"weights": f"synthetic:{name}", "precision": precision, "sizes": {
        size: run_for_json([*options.programs, "bench", "decode", "--lane", "cuda", "--weights", f"synthetic:{name}",
                            "--precision", precision, "--size", size, "--steps", "16", "--rounds", "3", "--no-passes",
                            "--json"], "") for size in SIZES}} for name, precision in FAMILIES]}


def energy():
    """Joules that GPU 0 has consumed since its driver was loaded, by the driver's counter."""
    library = ctypes.CDLL("libnvidia-ml.so.1")
    device, millijoules = ctypes.c_void_p(), ctypes.c_ulonglong()
    for result in (library.nvmlInit_v2(), library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)),
                   library.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(millijoules))):
        if result != 0:
            raise OSError(f"NVML says {result}")
    return millijoules.value / 1e3


RUN_SECONDS = 30  # that a run of `bench interop` may take, loading included


def interop(options):
    """Runs of `bench interop` with a decoder, one after another. One that does not end is stopped and the others
    run."""
    def run(size):
        begin = time.monotonic()
        command = [*options.programs, "bench", "interop", "--lane", options.lane, "--executions", "20", "--weights",
                   options.weights, "--size", size, "--decode-steps", "12", "--json", "-"]
        try:
            done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=options.seconds)
        except subprocess.TimeoutExpired:
            return {}, {"ended": False, "seconds": time.monotonic() - begin}
        of_run = {"ended": True, "seconds": time.monotonic() - begin, "exit_code": done.returncode}
        if done.returncode != 0:
            return {}, {**of_run, "message": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""}
        report = json.loads(done.stdout)
        return report["machine"], {**of_run,
                                   "share_of_interop_and_drawing": report["decode"]["share_of_interop_and_drawing"]}

    sizes, machine = {}, {}
    for size in options.sizes:
        for _ in range(options.rounds):
            said, of_run = run(size)
            machine = said or machine
            sizes.setdefault(size, []).append(of_run)
            record = {"machine": machine, "ended": sum(each["ended"] for runs in sizes.values() for each in runs),
                      "sizes": sizes}
            write(options, record)  # what ran so far, if this is stopped
    return record


# The decodes whose rate and energy are compared: type, sums, latent frames a step.
KINDS_OF_SUMS = {"exact, bf16": ("bf16", "exact", 1), "fast, bf16": ("bf16", "fast", 1),
                 "int8, bf16": ("bf16", "int8", 1),
                 "exact, fp16": ("fp16", "exact", 1), "fast, fp16": ("fp16", "fast", 1),
                 "fast, bf16, 2 latent frames a step": ("bf16", "fast", 2),
                 "fast, bf16, 4 latent frames a step": ("bf16", "fast", 4),
                 "int8, bf16, 2 latent frames a step": ("bf16", "int8", 2)}


def sums(options):
    """Each kind of sums in each type, at each size: the rate of eight clips, and the energy that six of them take."""
    def decode(size, precision, which, latent_frames, rounds):
        before = energy()
        decoded = run_for_json([*options.programs, "bench", "decode", "--lane", "cuda", "--weights", "synthetic:wan2.1",
                                "--size", size, "--steps", "16", "--rounds", str(rounds), "--no-passes", "--precision",
                                precision, "--sums", which, "--latent-frames", str(latent_frames), "--json"], "")
        return decoded, energy() - before

    sizes = {size: {} for size in SIZES}
    for size, of_size in sizes.items():
        for kind, asked in KINDS_OF_SUMS.items():
            _, few = decode(size, *asked, 3)
            decoded, many = decode(size, *asked, 9)
            of_size[kind] = [{**decoded, "joules_per_frame": (many - few) / (6 * decoded["frames"])}]
    return {"machine": sizes[SIZES[0]]["exact, bf16"][0]["machine"], "sizes": sizes}


# Programs that write problems for the emulator, and the code objects that the problems execute.
EMULATED = {"wave": "tests/kernels/emulator/gfx950/*.hsaco", "conv": "kernels/hip/gfx950/four_wave_conv*.hsaco",
            "pass": "kernels/hip/gfx950/[!f]*.hsaco kernels/hip/gfx950/frame_*.hsaco"}


def emulator(options):
    """Counts of the problems that each program writes for the emulator, as run_problems.py executes them."""
    build = Path(options.programs[0])
    checkout = os.environ["KINETOGRAPH_CDNA_EMULATOR"]
    head = subprocess.run(["git", "-C", checkout, "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    suites = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind, patterns in EMULATED.items():
            problems = Path(folder) / kind
            subprocess.run([build / f"tests/kernels/emulator/{kind}_problems", problems], check=True)
            objects = sorted(path for pattern in patterns.split() for path in build.glob(pattern))
            suites[kind] = run_for_json(
                [sys.executable, ROOT / "tests/kernels/emulator/run_problems.py", "--emulator", checkout, "--cache",
                 build / "tests/kernels/emulator/cache", "--problems", problems, "--every", *objects], "--json=")
    sources = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD:kernels/hip"], check=True, capture_output=True,
                             text=True)
    return {"kernels_hip_tree": sources.stdout.strip(), "emulator": "tinygrad, test/mockgpu/amd",
            "emulator_commit": head.stdout.strip(), "suites": suites}


ASSETS = ROOT / "assets"
PREVIEW_STEPS = (4, 12)  # latent frames; four frames each
# The part of a demo clip that is decoded for its pictures: latent pixels in the middle, and the first latent frames.
CROP = {"height": 16, "width": 24, "frames": 4}


def tensor_of(path, name):
    """Header, type, shape and bytes of a tensor in a safetensors file."""
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    begin, end = header[name]["data_offsets"]
    return header, header[name]["dtype"], header[name]["shape"], data[8 + length + begin:8 + length + end]


def crop(clip, path):
    header, dtype, (channels, frames, height, width), data = tensor_of(ASSETS / f"{clip}.safetensors", "latents")
    top, left = (height - CROP["height"]) // 2, (width - CROP["width"]) // 2
    element = len(data) // (channels * frames * height * width)
    rows = b"".join(data[at * element:(at + CROP["width"]) * element]
                    for c in range(channels) for t in range(CROP["frames"]) for y in range(CROP["height"])
                    for at in [((c * frames + t) * height + top + y) * width + left])
    shape = [channels, CROP["frames"], CROP["height"], CROP["width"]]
    text = json.dumps({"__metadata__": header.get("__metadata__", {}),
                       "latents": {"dtype": dtype, "shape": shape, "data_offsets": [0, len(rows)]}}).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + rows)


def psnr(frames, reference):
    """In dB, of values in [-1, 1]."""
    squares = sum((a - b) ** 2 for a, b in zip(frames, reference))
    return 10 * math.log10(4 * len(reference) / squares)


TIMED_SUMS = {"exact": ["--sums", "exact"], "fast": ["--sums", "fast"],
              "exact, inputs doubled by a pass": ["--sums", "exact", "--backend", "doubled-direct-cpu"]}


def pictures(options):
    """PSNR of each type and sum, and what a step takes: the processor's time on one thread, which other work changes
    least."""
    kinds = ("exact, fp32", "fast, fp32", "exact, bf16", "fast, bf16")
    program = options.programs[0]
    timed = {which: (program, arguments) for which, arguments in TIMED_SUMS.items()}
    if len(options.programs) == 2:
        timed["exact, before"] = (options.programs[1], TIMED_SUMS["exact"])
    weights = {"demo": ASSETS / "demo_vae.safetensors", "synthetic": "synthetic:wan2.1,dim=32"}

    def decode(clip, decoder, kind, folder):
        which, precision = kind.split(", ")
        path = folder / "frames.safetensors"
        subprocess.run([program, "decode", clip, "--weights", weights[decoder], "--lane", "cpu", "--precision",
                        precision, "--sums", which, "--output", path], check=True, stderr=subprocess.DEVNULL)
        return array.array("f", tensor_of(path, "frames")[3])

    def processor_seconds(which, steps):
        of, arguments = timed[which]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        decoded = run_for_json([of, "bench", "decode", ASSETS / "orbit.safetensors", "--weights", weights["demo"],
                                "--lane", "cpu", "--steps", str(steps), "--no-passes", *arguments, "--json"], "",
                               {**os.environ, "OMP_NUM_THREADS": "1"})
        return decoded, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    quality = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for clip, decoder in (("orbit", "demo"), ("tunnel", "demo"), ("bounce", "demo"), ("orbit", "synthetic")):
            crop(clip, folder / "clip.safetensors")
            frames = {kind: decode(folder / "clip.safetensors", decoder, kind, folder) for kind in kinds}
            quality[f"{clip}, {decoder} decoder"] = {kind: psnr(frames[kind], frames[kinds[0]]) for kind in kinds[1:]}
    steps, about = {which: [] for which in timed}, {}
    for i in range(options.rounds):
        for which in sorted(timed, reverse=i % 2 == 1):
            about[which], few = processor_seconds(which, 3)
            steps[which].append((processor_seconds(which, 5)[1] - few) / 2)
    commits = {"commit": about["exact"]["commit"]}
    if "exact, before" in about:
        commits["commit_before"] = about["exact, before"]["commit"]
    return {**commits, "machine": about["exact"]["machine"], "size": f"{8 * CROP['width']}x{8 * CROP['height']}",
            "frames": 4 * CROP["frames"] - 3, "psnr_db": quality, "rounds": options.rounds,
            "load_average": os.getloadavg()[2],
            "processor_seconds_per_step_bf16": {which: spread(all_of) for which, all_of in steps.items()}}


def preview(options):
    """The rate on two threads, best of the rounds, since other work only lowers it; and the processor time of a frame,
    of both threads with their waits for each other, which other work changes least."""
    command = [*options.programs, "bench", "decode", ASSETS / "orbit.safetensors", "--weights",
               ASSETS / "demo_tiny.safetensors", "--lane", "cpu", "--precision", "bf16", "--no-passes"]

    def decoded(steps):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        run = run_for_json([*command, "--steps", str(steps), "--json"], "", {**os.environ, "OMP_NUM_THREADS": "2"})
        return run, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    rates, of_frame = [], []
    for _ in range(options.rounds):
        (_, few), (run, many) = (decoded(steps) for steps in PREVIEW_STEPS)
        rates.append(run["fps_steady"])
        of_frame.append((many - few) / (4 * (PREVIEW_STEPS[1] - PREVIEW_STEPS[0])))
    return {"commit": run["commit"], "machine": run["machine"], "width": run["width"], "height": run["height"],
            "threads": 2, "fps_two_threads": max(rates), "fps_two_threads_rounds": rates,
            "processor_seconds_per_frame": statistics.median(of_frame)}


def write(options, record):
    record = {"commit": options.commit, "command": " ".join([SELF, *sys.argv[1:]]), **record}
    options.output.write_text(json.dumps(record, indent=1) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind",
                        choices=("suite", "graph", "profiler", "decode", "compare", "emulator", "families", "sums",
                                 "interop", "pictures", "preview"))
    parser.add_argument("programs", nargs="+")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--name", default="", help="of a suite: its folder")
    parser.add_argument("--device", default="", help="of a suite: what it ran on")
    parser.add_argument("--sanitizer", metavar="FILTER", help="of a suite: cases to run under compute-sanitizer too")
    parser.add_argument("--rounds", type=int, default=3,
                        help="of pictures, preview, compare and interop: times that each runs")
    parser.add_argument("--decode-only", action="store_true",
                        help="of compare: exact and fast sums, without drawing, which needs Vulkan")
    parser.add_argument("--lane", default="cuda", help="of interop")
    parser.add_argument("--weights", default="synthetic:wan2.1", help="of interop")
    parser.add_argument("--sizes", nargs="+", default=SIZES, metavar="WIDTHxHEIGHT", help="of interop")
    parser.add_argument("--seconds", type=float, default=RUN_SECONDS, help="of interop: that a run may take")
    parser.add_argument("--filter", default="*", help="of a suite: GoogleTest's")
    options = parser.parse_args()
    options.commit = commit(options.programs)
    record = {"suite": suite, "graph": graph, "profiler": profiler, "decode": decode, "compare": compare,
              "emulator": emulator, "families": families, "sums": sums, "interop": interop, "pictures": pictures,
              "preview": preview}[options.kind](options)
    write(options, record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
