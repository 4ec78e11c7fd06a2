#!/usr/bin/python3
"""What the installed Python package gives on a GPU, beside `kinetograph bench decode` and diffusers.

    python3 -m pip install WHEEL diffusers
    bench/run/python_on_gpu.py --kinetograph build/release/tools/kinetograph/kinetograph --output python_h200.json

Latents and weights are synthetic, the same as the program's. A part that fails is recorded with its message, and the
others run; the exit code is then 1.
"""
import argparse
import gc
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

import torch

import kinetograph as kg
from kinetograph._library import library

sys.path += [str(Path(__file__).resolve().parents[1] / folder) for folder in ("peers", "tables")]
from record_results import commit  # noqa: E402
from tensor_files import read_safetensors, write_safetensors  # noqa: E402
from wan21_pytorch import psnr, synthetic_tensor, synthetic_weights  # noqa: E402
from wan_wrappers import WanVAE, WanVAEWrapper  # noqa: E402

WEIGHTS = "synthetic:wan2.1"
STEPS = 16
SMALL = "256x256"  # so small that the host's share of a call shows
TINY = "128x128"   # for many cycles


def latents_of(decoder, size, steps=STEPS):
    """[channels, steps, h, w] float32, those of `bench decode --size`."""
    width, height = (int(side) // decoder.spatial_scale for side in size.split("x"))
    return synthetic_tensor("latents", (decoder.channels, steps, height, width), "cuda")


def seconds_of(call):
    """Seconds until the device has done the call's work."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def microseconds(samples):
    ordered = sorted(1e6 * sample for sample in samples)
    return {"median": statistics.median(ordered), "p99": ordered[int(0.99 * (len(ordered) - 1))], "count": len(ordered)}


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def free_bytes():
    torch.cuda.synchronize()
    return torch.cuda.mem_get_info()[0]


def program(options, *arguments):
    return subprocess.run([options.kinetograph, *map(str, arguments)], check=True, capture_output=True)


def rate(options, decoder):
    """decode() of a tensor in CUDA memory and the bench, alternating."""
    latents, clips, benches = latents_of(decoder, options.size), [], []
    frames = decoder.decode(latents).shape[0]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "bench.json"
        for _ in range(2):
            program(options, "bench", "decode", "--lane", "cuda", "--weights", WEIGHTS, "--size", options.size,
                    "--steps", STEPS, "--rounds", 3, "--no-passes", "--json", report)
            bench = json.loads(report.read_text())
            benches.append(bench["fps_clip"])
            clips += [seconds_of(lambda: decoder.decode(latents)) for _ in range(3)]
    decode = frames / statistics.median(clips)
    return {"frames": frames, "size": options.size, "fps_decode": decode, "fps_bench": statistics.median(benches),
            "fps_bench_rounds": benches, "seconds_decode": clips, "ratio": decode / statistics.median(benches),
            "bench_machine": bench["machine"], "commit": bench["commit"]}


def pictures(options, decoder):
    """Compares frames with those of `kinetograph decode`, bit for bit: floats, bytes, from any stream and in chunks."""
    latents = latents_of(decoder, "416x240", 5)
    with tempfile.TemporaryDirectory() as folder:
        clip, out = Path(folder) / "clip.safetensors", Path(folder) / "frames.safetensors"
        write_safetensors(clip, {"latents": latents.float()}, {"fps": "24"})
        program(options, "decode", clip, "--weights", WEIGHTS, "--lane", "cuda", "-o", out)
        floats = read_safetensors(out)[0]["frames"].permute(1, 0, 2, 3)
        rows = program(options, "decode", clip, "--weights", WEIGHTS, "--lane", "cuda", "-o", "-").stdout
    wanted = torch.frombuffer(bytearray(rows), dtype=torch.uint8).reshape(17, 240, 416, 3)
    with torch.cuda.stream(torch.cuda.Stream()):
        elsewhere = decoder.decode(latents.clone()).cpu()
    state = decoder.new_state()
    chunks = torch.cat([decoder.decode_chunk(state, latents[:, :3]), decoder.decode_chunk(state, latents[:, 3:])]).cpu()
    decoder.release(state)
    halves = decoder.decode(latents.bfloat16()).cpu()
    return {"float32_equal": torch.equal(decoder.decode(latents, dtype="float32", layout="TCHW").cpu(), floats),
            "uint8_equal": torch.equal(decoder.decode(latents).cpu(), wanted),
            "other_stream_equal": torch.equal(elsewhere, wanted), "chunks_equal": torch.equal(chunks, wanted),
            "bfloat16_equal": torch.equal(halves, decoder.decode(latents.bfloat16().float()).cpu()),
            "host_latents_equal": torch.equal(decoder.decode(latents.cpu()), wanted)}


def overhead(options, decoder):
    """Seconds of the calling thread, with nothing on the device to wait for."""
    latents = latents_of(decoder, SMALL, 1)
    calls = {"push": [], "take": [], "from_dlpack": [], "release": []}

    def timed(name, call):
        begin = time.perf_counter()
        result = call()
        calls[name].append(time.perf_counter() - begin)
        return result

    with decoder.stream() as stream:
        for _ in range(300):
            torch.cuda.synchronize()
            timed("push", lambda: stream.push(latents))
            while stream.pending:
                frame = timed("take", stream.take)
                array = timed("from_dlpack", lambda: torch.from_dlpack(frame))
                timed("release", frame.release)
                del array
        torch.cuda.synchronize()
        device = stream.stats()["average_step_s"]
    whole = [seconds_of(lambda: decoder.decode(latents)) for _ in range(100)]
    of_one = decoder._cached.stats()["last_step_s"]
    decodes = microseconds(whole[10:])
    return {"size": SMALL, "calls_us": {name: microseconds(samples[20:]) for name, samples in calls.items()},
            "decode_of_one_latent_frame_us": decodes, "its_step_on_device_us": 1e6 * of_one,
            "decode_overhead_us": decodes["median"] - 1e6 * of_one, "step_on_device_us": 1e6 * device}


def soak(options, decoder):
    """Cycles of push() and frames(): what the device, the process and Python hold before and after."""
    latents = latents_of(decoder, TINY, 1)
    taken = torch.empty((128, 128, 3), dtype=torch.uint8, device="cuda")

    def cycles(stream, count):
        for _ in range(count):
            stream.push(latents)
            for frame in stream.frames():
                taken.copy_(torch.from_dlpack(frame))
                frame.release()

    def held(stream):
        gc.collect()
        stats = stream.stats()
        return {"device_free": free_bytes(), "resident": resident_bytes(),
                "library_device_bytes": stats["device_bytes"],
                "frames_held": stats["frames_held"], "objects": len(gc.get_objects()),
                "torch_reserved": torch.cuda.memory_reserved(), "torch_allocated": torch.cuda.memory_allocated()}

    with decoder.stream() as stream:
        cycles(stream, options.cycles // 10)
        before, begin = held(stream), time.perf_counter()
        cycles(stream, options.cycles)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
        return {"size": TINY, "latent_frames_of_a_cycle": 1, "cycles": options.cycles, "seconds": seconds,
                "before": before, "after": held(stream)}


def allocator(options, decoder):
    """torch's counters around 50 cycles that must not use torch's allocator, and around a decode()."""
    latents = latents_of(decoder, SMALL, 3)
    keys = ("num_alloc_retries", "num_ooms", "allocation.all.allocated", "segment.all.allocated",
            "reserved_bytes.all.current", "allocated_bytes.all.current")

    def counters():
        torch.cuda.synchronize()
        stats = torch.cuda.memory_stats()
        return {key: stats[key] for key in keys}

    with decoder.stream() as stream:
        stream.push(latents)
        list(stream.frames())
        before = counters()
        for _ in range(50):
            stream.push(latents)
            for frame in stream.frames():
                torch.from_dlpack(frame)
                frame.release()
        after = counters()
    del frame
    decoder.decode(latents)
    start = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    frames = decoder.decode(latents)
    return {"before": before, "after": after, "undisturbed": before == after,
            "decode_bytes_beyond_its_frames": torch.cuda.max_memory_allocated() - start - frames.numel()}


def capture(options, decoder):
    """A CUDA graph captured, in torch's default mode, while another thread decodes; and one by a thread that pushes."""
    latents = latents_of(decoder, SMALL, 3)
    values = torch.arange(1 << 20, device="cuda", dtype=torch.float32)
    taken = torch.empty((256, 256, 3), dtype=torch.uint8, device="cuda")
    begun, stop, errors = threading.Event(), threading.Event(), []
    wanted = decoder.decode(latents)[-1].clone()

    def chunk(stream):
        stream.reset()
        stream.push(latents)
        for frame in stream.frames():
            taken.copy_(torch.from_dlpack(frame))
            frame.release()

    def decode():
        try:
            with torch.cuda.stream(torch.cuda.Stream()), decoder.stream() as stream:
                while not stop.is_set():
                    chunk(stream)
                    begun.set()
                torch.cuda.current_stream().synchronize()
        except BaseException as error:  # recorded, because a thread cannot raise it in another
            errors.append(f"{type(error).__name__}: {error}")
            begun.set()

    def captured(during):
        graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        out = torch.empty_like(values)
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            torch.mul(values, 2, out=out)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph, stream=side):
            torch.mul(values, 3, out=out)
            during()
            out.add_(1)
        graph.replay()
        torch.cuda.synchronize()
        return torch.equal(out, 3 * values + 1)

    thread = threading.Thread(target=decode)
    thread.start()
    begun.wait()
    try:
        others = captured(lambda: time.sleep(0.2))
    finally:
        stop.set()
        thread.join()
    torch.cuda.synchronize()
    frames_good = torch.equal(taken, wanted)

    with decoder.stream() as stream:
        own = torch.cuda.Stream()
        with torch.cuda.stream(own):
            chunk(stream)
        torch.cuda.synchronize()

        def push():
            with torch.cuda.stream(own):
                stream.push(latents)
        same = captured(push)
        with torch.cuda.stream(own):
            for frame in stream.frames():
                frame.release()

        told = []

        def push_to_it():  # the current stream is the one being captured
            try:
                stream.push(latents)
            except kg.InvalidArgument as error:
                told.append(str(error))
        spared = captured(push_to_it)
        chunk(stream)
        torch.cuda.synchronize()
        after = torch.equal(taken, wanted)
    return {"while_another_thread_decodes": others, "its_frames_equal": frames_good, "errors_of_that_thread": errors,
            "while_the_same_thread_pushes": same, "capturing_stream_refused": told,
            "while_a_push_to_it_is_refused": spared and len(told) == 1, "frames_after_that_equal": after}


def wan(options, decoder):
    """WanVAE and the wrapper that keeps its cache, of the published shapes, in float32 as published and replaced."""
    import kinetograph.wan

    torch.backends.cudnn.allow_tf32 = False
    weights, latents = synthetic_weights(WEIGHTS, "cuda"), latents_of(decoder, options.size)
    small = latents_of(decoder, "416x240", 6)
    batch = small.permute(1, 0, 2, 3)[None]
    vae, wrapper = WanVAE(weights, "cuda"), WanVAEWrapper(weights, "cuda")

    def rate_of(call, frames):
        call()
        seconds = [seconds_of(call) for _ in range(3)]
        return {"fps": frames / statistics.median(seconds), "seconds": seconds}

    def chunks():
        parts = [wrapper.decode_to_pixel(batch[:, begin:begin + 3], use_cache=True) for begin in (0, 3)]
        wrapper.model.clear_cache()
        return torch.cat(parts, 1)

    def frames_of(clip):
        return 1 + decoder.frames_per_latent * (clip.shape[1] - 1)

    def measured():
        return {"vae": rate_of(lambda: vae.decode([latents]), frames_of(latents)),
                "cached_wrapper": rate_of(chunks, frames_of(small))}

    with torch.no_grad():
        reference, cached_reference = vae.decode([small])[0].cpu(), chunks().cpu()
        record = {"size": options.size, "cached_size": "416x240", "original": measured()}
        replacements = [kinetograph.wan.replace_vae(one) for one in (vae, wrapper)]
        record["replaced"] = measured()
        picture, cached = vae.decode([small])[0], chunks()
        whole = wrapper.decode_to_pixel(batch)
        record["replaced"]["vae"]["psnr_db"] = psnr(picture.cpu(), reference)
        record["replaced"]["cached_wrapper"]["psnr_db"] = psnr(cached.cpu(), cached_reference)
        record["cached_chunks_equal_the_whole_clip"] = torch.equal(cached, whole)
        record["replacement"] = repr(replacements[0])
        for replaced in replacements:
            replaced.restore()
        record["restored_equal"] = torch.equal(vae.decode([small])[0].cpu(), reference)
    return record


def diffusers(options, decoder):
    """AutoencoderKLWan as published and replaced: rate and memory at full size, pictures against its float32 at a small
    one."""
    from peer_decoders import autoencoder
    import kinetograph.diffusers

    torch.backends.cudnn.allow_tf32 = False
    weights = synthetic_weights(WEIGHTS, "cuda")
    small, latents = latents_of(decoder, "416x240", 5)[None], latents_of(decoder, options.size)[None].bfloat16()
    with torch.no_grad():
        reference = autoencoder(weights, "cuda", torch.float32).decode(small).sample.cpu()
    vae = autoencoder(weights, "cuda", torch.bfloat16)
    del weights

    def measured():
        frames = vae.decode(latents).sample.shape[2]
        torch.cuda.empty_cache()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        least, stop = [free_bytes()], threading.Event()

        def watch():
            while not stop.wait(0.002):
                least[0] = min(least[0], torch.cuda.mem_get_info()[0])
        watcher = threading.Thread(target=watch)
        watcher.start()
        seconds = [seconds_of(lambda: vae.decode(latents)) for _ in range(3)]
        stop.set()
        watcher.join()
        picture = vae.decode(small.bfloat16()).sample.float().cpu()
        return {"fps": frames / statistics.median(seconds), "seconds": seconds, "psnr_db": psnr(picture, reference),
                "torch_peak_bytes": torch.cuda.max_memory_allocated(),
                "device_bytes": torch.cuda.mem_get_info()[1] - least[0]}

    with torch.no_grad():
        original = measured()
        for block in (vae.decoder, vae.post_quant_conv):
            assert next(block.parameters()).is_cuda
        replaced = kinetograph.diffusers.replace_vae(vae)
        ours = measured()
        ours["library_bytes"] = replaced.decoder._cached.stats()["device_bytes"]
        ours["replacement"] = repr(replaced)
        replaced.restore()
    return {"diffusers": importlib.metadata.version("diffusers"), "size": options.size, "original": original,
            "replaced": ours, "times_as_fast": ours["fps"] / original["fps"]}


def cupy(options, decoder):
    import cupy as package

    latents = latents_of(decoder, SMALL, 2)
    wanted = decoder.decode(latents).cpu().numpy()
    array, frames = package.from_dlpack(latents), []
    with decoder.stream() as stream, package.cuda.Stream(non_blocking=True) as current:
        stream.push(array)
        for frame in stream.frames():
            frames.append(package.from_dlpack(frame).copy())
            frame.release()
        clip = decoder.decode(array)
        half = decoder.decode(array.astype("float16"))
        current.synchronize()
    equal = all((frame.get() == picture).all() for frame, picture in zip(frames, wanted)) and len(frames) == len(wanted)
    return {"version": package.__version__, "frames": len(frames), "stream_equal": bool(equal),
            "decode_equal": bool((clip.get() == wanted).all()),
            "float16_near": bool(abs(half.get() - wanted.astype(int)).max() < 9)}


# [type] -> keys of the record: are the frames of stream() and of decode() those that torch's latents give?
EQUAL_IN_JAX = {"float32": ("float32_equal", "float32_decode_equal"), "uint8": ("uint8_equal", "uint8_decode_equal"),
                "bfloat16": ("bfloat16_equal", "bfloat16_decode_equal")}


def jax(options, _):
    """Each type in its own process, where only JAX compiles: torch and JAX each bring their own CUDA libraries."""
    with tempfile.TemporaryDirectory() as folder:
        running = {}
        for name in EQUAL_IN_JAX:
            out = Path(folder) / f"{name}.json"
            command = [sys.executable, "-X", "faulthandler", __file__, "--kinetograph", options.kinetograph, "--only",
                       "jax_alone", "--jax", name, "--output", out]
            environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
            running[name] = out, subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                                  env=environment)
        record, failed = {}, []
        for name, (out, process) in running.items():
            messages = process.communicate()[1]
            if process.returncode == 0:
                record.update(json.loads(out.read_text())["parts"]["jax_alone"])
            else:
                failed.append(f"{name} ended with {process.returncode}: {messages[-2500:]}")
        if failed:
            raise RuntimeError(f"{record}; {'; '.join(failed)}")
        return record


def jax_alone(options, decoder):
    import jax as package
    import numpy

    def stage(name):
        print(name, file=sys.stderr, flush=True)

    latents = latents_of(decoder, SMALL, 2)
    dtype = "uint8" if options.jax == "uint8" else "float32"
    wanted, frames = decoder.decode(latents, dtype=dtype).cpu().numpy(), []
    array = package.dlpack.from_dlpack(latents)
    if options.jax == "bfloat16":
        wanted = decoder.decode(latents.bfloat16(), dtype=dtype).cpu().numpy()
        stage("astype")
        array = package.block_until_ready(array.astype("bfloat16"))
    with decoder.stream(dtype=dtype, layout="HWC4" if dtype == "uint8" else "HWC") as stream:
        stage("push")
        stream.push(array)
        for frame in stream.frames():
            stage(f"frame {frame.index}")
            frames.append(package.numpy.array(package.dlpack.from_dlpack(frame), copy=True))
            stage("copied")
            package.block_until_ready(frames[-1])
            frame.release()
    stage("closed")
    equal = all((numpy.asarray(frame)[..., :3] == picture).all() for frame, picture in zip(frames, wanted))
    stage("decode")
    whole = decoder.decode(array, dtype=dtype)
    decoded = isinstance(whole, package.Array) and whole.devices() == array.devices()
    return {"version": package.__version__, "platform": str(frames[0].devices()),
            EQUAL_IN_JAX[options.jax][0]: bool(equal) and len(frames) == len(wanted),
            EQUAL_IN_JAX[options.jax][1]: decoded and bool((numpy.asarray(whole) == wanted).all())}


def together(options, _):
    """JAX in a process in which torch, diffusers and CuPy have run before, each with its own CUDA libraries."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "together.json"
        ended = subprocess.run([sys.executable, "-X", "faulthandler", __file__, "--kinetograph", options.kinetograph,
                                "--only", "diffusers", "cupy", "jax_alone", "--output", out], stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"})
        if ended.returncode != 0:
            raise RuntimeError(f"ended with {ended.returncode}: {ended.stderr[-2500:]}")
        parts = json.loads(out.read_text())["parts"]
        return {"cupy": parts["cupy"], "jax": parts["jax_alone"]}


def generate_into(viewer, latents):
    """Runs a generator that keeps the GPU busy and calls show() with each latent frame."""
    seconds, ahead = [], []
    with kg.Preview(WEIGHTS, program=viewer) as opened:
        for begin in range(latents.shape[1]):
            torch.cuda._sleep(int(2e7))  # about 10 ms: the generator's work
            chunk = latents[:, begin:begin + 1].contiguous()
            busy = torch.cuda.Event()
            busy.record()
            start = time.perf_counter()
            opened.show(chunk)
            seconds.append(time.perf_counter() - start)
            ahead.append(not busy.query())
        opened.end()
        by, sender = type(opened._writer).__name__, opened._writer
        sender.close()
        code = opened.wait(60)
    made = {"exit_code": code, "by": by, "show_us": [1e6 * value for value in seconds],
            "returned_before_the_gpu_was_done": ahead, "messages": repr(opened) if code else ""}
    opened.close()
    return made


def preview(options, decoder):
    """Latents in CUDA memory to a viewer in a process of its own: what it decodes, and what show() costs the
    generator."""
    latents = latents_of(decoder, "416x240", 7)
    wanted = decoder.decode(latents).cpu()
    record = {}
    with tempfile.TemporaryDirectory() as folder:
        out, shot = Path(folder) / "frames.rgb24", Path(folder) / "shot.png"
        program_of = {
            "decoded": f'shift; exec {options.kinetograph} decode "$@" --lane cuda -o - >{out}',
            "shown": f'exec {options.kinetograph} "$@" --lane cuda --headless --size 416x240 --frames 25 --screenshot '
                     f'{shot}'}
        for name, command in program_of.items():
            viewer = Path(folder) / name
            viewer.write_text(f"#!/bin/bash\n{command}\n")
            viewer.chmod(0o755)
            try:
                record[name] = generate_into(viewer, latents)
            except RuntimeError as error:  # a viewer that does not start here
                record[name] = str(error)
        if out.exists():
            record["frames_equal"] = out.read_bytes() == wanted.numpy().tobytes()
        record["screenshot_bytes"] = shot.stat().st_size if shot.exists() else 0
    return record


def errors(options, decoder):
    """The error messages of wrong uses on a GPU, among them an error in torch while a frame's tensor is released."""
    latents = latents_of(decoder, SMALL, 1)
    nan = latents.clone()
    nan[0, 0, 0, 0] = float("nan")
    answers = {}
    for name, call in {
        "float64": lambda: decoder.decode(latents.double()),
        "channels": lambda: decoder.decode(latents[:8]),
        "not contiguous": lambda: decoder.decode(latents.transpose(2, 3)),
        "decode() of NaN": lambda: [decoder.decode(torch.cat([nan, latents, latents], 1)), decoder._forget_state()],
        "broadcast": lambda: torch.empty(1, 1, device="cuda").copy_(torch.from_dlpack(next(frames))),
        "released": lambda: torch.from_dlpack(released),
    }.items():
        with decoder.stream() as stream:
            stream.push(latents)
            released = stream.take()
            released.release()
            stream.push(latents)
            frames = stream.frames()
            try:
                call()
                answers[name] = "no error"
            except Exception as error:
                answers[name] = f"{type(error).__name__}: {str(error)[:160]}"
    with decoder.stream() as stream:
        stream.push(nan)
        frame = stream.take()
        torch.cuda.synchronize()
        answers["not finite"] = f"finite {frame.finite}"
    return answers


PARTS = (rate, pictures, overhead, soak, allocator, capture, diffusers, wan, cupy, preview, errors, jax, together)


def installed():
    """The machine's distribution, and what of the package was installed: the wheel's name and tag, the library's
    path."""
    lines = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    record = {"os": lines.get("PRETTY_NAME", "").strip('"'), "library": os.path.realpath(library._name), "wheel": "",
              "wheel_tag": ""}
    try:
        distribution = importlib.metadata.distribution("kinetograph")
    except importlib.metadata.PackageNotFoundError:  # imported by PYTHONPATH
        return record
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    record["wheel"] = origin.get("url", "").rpartition("/")[2]
    record["wheel_tag"] = next((line[5:] for line in (distribution.read_text("WHEEL") or "").splitlines()
                                if line.startswith("Tag: ")), "")
    return record


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinetograph", required=True, help="the program, of the same commit")
    parser.add_argument("--size", default="832x480", help="of the frames whose rate is measured (832x480)")
    parser.add_argument("--cycles", type=int, default=2000, help="of push() and frames() (2000)")
    parser.add_argument("--only", nargs="*", default=[part.__name__ for part in PARTS],
                        choices=[part.__name__ for part in (*PARTS, jax_alone)], help="these parts")
    parser.add_argument("--jax", default="float32", help=argparse.SUPPRESS)
    parser.add_argument("--output", required=True, help="JSON, written after every part")
    options = parser.parse_args()
    print(kg.info())
    record = {"command": "bench/run/python_on_gpu.py", "commit": commit([options.kinetograph]),
              "device": torch.cuda.get_device_name(), "python": sys.version.split()[0], "torch": torch.__version__,
              **installed(), "parts": {}, "failed": {}}
    begin = time.perf_counter()
    with kg.Decoder(WEIGHTS, device="cuda") as decoder:
        for part in [part for part in (*PARTS, jax_alone) if part.__name__ in options.only]:
            name = part.__name__
            try:
                record["parts"][name] = part(options, decoder)
            except Exception as error:  # the other parts still run
                traceback.print_exc()
                output = getattr(error, "stderr", b"") or b""
                said = output.decode(errors="replace")[-500:]
                record["failed"][name] = f"{type(error).__name__}: {error} {said}".strip()
            print(f"{time.perf_counter() - begin:6.1f} s  {name}: "
                  f"{record['parts'].get(name, record['failed'].get(name))}", flush=True)
            Path(options.output).write_text(json.dumps(record, indent=1) + "\n")
    return 1 if record["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
