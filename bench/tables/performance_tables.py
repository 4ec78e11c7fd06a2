#!/usr/bin/python3
"""Fills the tables of the documents from the measurements in bench/results; no figure is typed by hand.

    bench/tables/performance_tables.py            # rewrites the tables
    bench/tables/performance_tables.py --check    # exit code 1 if a table differs from the measurements

A table is between `<!-- NAME SIZE -->` and `<!-- end -->`, with a NAME of TABLES. Figures that have not been measured
are marked.
"""
import argparse
import json
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "bench/results"
DOCUMENTS = (ROOT / "docs/performance.md", ROOT / "docs/profiling.md", ROOT / "docs/python.md", ROOT / "README.md")


def load(name):
    path = RESULTS / name
    return json.loads(path.read_text()) if path.exists() else None


def command_of(record):
    """What was run, by the path that the program has today."""
    program, *arguments = record["command"].split(" ")
    moved = next((path for path in (ROOT / "bench").glob("*/*") if path.stem == Path(program).stem), None)
    if moved and (program.startswith("build/") or not (ROOT / program).exists()):
        program = f"build/release/{moved.relative_to(ROOT).with_suffix('')}" if moved.suffix == ".cpp" else \
            str(moved.relative_to(ROOT))
    return " ".join([program, *arguments])


def missing(*names):
    return [f"Not measured yet: `bench/results/{name}` is not there." for name in names if load(name) is None]


def markdown(titles, rows):
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def source(*records):
    """The source of a table's figures, as the document states it."""
    lines = []
    for name, record in records:
        device = record.get("machine", record)["device"]
        dirty = " with changes" if record["commit"].endswith("-dirty") else ""
        lines.append(f"(`bench/results/{name}`: {device}, commit {record['commit'][:9]}{dirty}, "
                     f"`{command_of(record)}`)")
    if len(lines) <= 2:
        return ["", *lines]
    commits = dict.fromkeys(record["commit"][:9] for _, record in records)
    return ["", *textwrap.wrap(f"({', '.join(f'`{name}`' for name, _ in records)}, commits {', '.join(commits)}: each "
                               "with its command in `bench/results`)", 120, break_on_hyphens=False)]


def gib(size):
    return f"{size / 2.0 ** 30:.2f} GiB"


def ms(seconds):
    return f"{1e3 * seconds:.3f}"


def roofline(_):
    """What bounds a step's convolutions, and what cuDNN's and ours take, as decoders declare them."""
    sizes = ("1280x704", "832x480")
    names = [f"{record}_h200_{size}.json" for size in sizes for record in ("cudnn", "declared")]
    records = {name: load(name) for name in names}
    if None in records.values():
        return missing(*names)
    columns = []
    for size in sizes:
        cudnn, ours = records[f"cudnn_h200_{size}.json"], records[f"declared_h200_{size}.json"]
        flops = sum(layer["launches"] * layer["flops"] for layer in cudnn["layers"])
        floor = sum(layer["launches"] * layer["seconds_floor"] for layer in cudnn["layers"])
        columns.append([f"{cudnn['matmul_bf16_tflops']:.0f} TFLOP/s",
                        f"{cudnn['copy_bytes_per_second'] / 1e9:.0f} GB/s",
                        f"{flops / 1e12:.2f} TFLOP",
                        *(f"{ms(seconds)} ms, {4 / seconds:.1f} frames/s" for seconds in (
                            floor, cudnn["seconds_per_step"], *(ours["seconds_per_step_of_sums"][sums]
                                                                for sums in ("exact", "fast"))))])
    titles = ["bf16 8192^3 matrix product (cuBLAS)", "a pass over memory, bytes read + written",
              "convolutions of a step of four frames", "floor: each layer at the slower of the two ceilings",
              "cuDNN's, bare", "ours, exact sums", "ours, fast sums"]
    return markdown(["", *sizes], [list(row) for row in zip(titles, *columns)]) + source(*records.items())


def of_layers(record):
    """The declared launches of a record by layer, in order: seconds of all such layers of a step for either sums, and
    what they are predicted to take; None where one did not run, or has no model."""
    layers = {}
    for launch in record["layers"]:
        layer = layers.setdefault(launch["part_of"], {"epilogues": {}, "sums": {}})
        layer["epilogues"][launch["epilogue"] or "bias"] = launch["layers_alike"]
        results = {result["backend"]: result for result in launch["backends"]}
        for sums, choice in launch["sums"].items():
            of = layer["sums"].setdefault(sums, {"seconds": 0.0, "predicted_seconds": 0.0, "methods": []})
            result = results.get(choice["backend"], {})
            of["methods"] += [choice["backend"]] if choice["backend"] not in of["methods"] else []
            for figure in ("seconds", "predicted_seconds"):
                if of[figure] is not None:
                    each = result.get(figure)
                    of[figure] = None if each is None else of[figure] + choice["launches"] * each
    return layers


def declared(size):
    """An empty table until the record exists."""
    names = f"declared_h200_{size}.json", f"cudnn_h200_{size}.json"
    ours, theirs = (load(name) for name in names)
    if ours is None or theirs is None:
        return []
    cudnn = {layer["layer"]: layer["seconds"] for layer in theirs["layers"]}
    rows, total = [], {"cudnn": 0.0}

    def cells(of, bare):
        seconds, predicted = of["seconds"], of["predicted_seconds"]
        return ["none ran" if seconds is None else ms(seconds), "-" if predicted is None else ms(predicted),
                "" if seconds is None else f"{bare / seconds:.2f}"]

    for name, layer in of_layers(ours).items():
        count = sum(layer["epilogues"].values())
        bare, exact, fast = count * cudnn[name], layer["sums"]["exact"], layer["sums"]["fast"]
        for key, seconds in (("exact", exact["seconds"]), ("fast", fast["seconds"]), ("cudnn", bare)):
            known = seconds is not None and total.get(key, 0.0) is not None
            total[key] = total.get(key, 0.0) + seconds if known else None
        epilogues = "; ".join(f"{number} {what}" if len(layer["epilogues"]) > 1 else what
                              for what, number in layer["epilogues"].items())
        rows.append([name, epilogues, str(count), " + ".join(exact["methods"]), *cells(exact, bare),
                     *(cells(fast, bare) if fast["methods"] != exact["methods"] else ("", "", "")), ms(bare)])
    predicted = ours["predicted_seconds_per_step_of_sums"]
    sums = {key: {"seconds": total[key], "predicted_seconds": predicted[key]} for key in ("exact", "fast")}
    rows.append(["all of a step", "", str(sum(int(row[2]) for row in rows)), "", *cells(sums["exact"], total["cudnn"]),
                 *cells(sums["fast"], total["cudnn"]), ms(total["cudnn"])])
    text = "A step's layers as decoders declare them, in their parts and with epilogues, beside cuDNN's bare ones:"
    titles = ["layer: channels, taps, output", "epilogue", "layers", "exact sums", "ms", "predicted", "cuDNN / ours",
              "fast, ms", "predicted", "cuDNN / fast", "cuDNN ms"]
    return [text, "", *markdown(titles, rows), *source(*zip(names, (ours, theirs)))]


def peers(_):
    """The decoder beside PyTorch and beside public decoders, in one run."""
    name, larger = "decode_h200.json", "decode_1920x1088_h200.json"
    record, alone = load(name), load(larger)
    if record is None or alone is None:
        return missing(name, larger)
    sizes = record["sizes"].values()
    of_size = [{"PyTorch": max(result["pytorch"], key=lambda stats: stats["fps_clip"]), **result.get("peers", {}),
                "kinetograph": result["kinetograph"]} for result in sizes]
    rows = []
    for who in of_size[0]:
        row = [who]
        for decoders in of_size:
            ratio = decoders["kinetograph"]["fps_clip"] / decoders[who]["fps_clip"]
            row += [f"{decoders[who]['fps_clip']:.1f}", gib(decoders[who]["peak_device_bytes"]), f"{ratio:.2f}"]
        rows.append([*row, f"{record['psnr_db'][who]:.1f} dB" if who in record["psnr_db"] else ""])
    titles = [title for size in record["sizes"] for title in (f"{size}, frames/s", "memory", "ours / theirs")]

    def started(stats):
        return (f"{gib(stats['stated_device_bytes'])} were stated before and the first frame came "
                f"{1e3 * stats['seconds_first_frame_after_load']:.1f} ms after loading")
    text = " ".join([*(f"At {size} {started(result['kinetograph'])}." for size, result in record["sizes"].items()),
                     f"Alone at 1920x1088: {alone['fps_clip']:.1f} frames/s in {gib(alone['peak_device_bytes'])}; "
                     f"{started(alone)}."])
    return [*markdown(["decoder", *titles, "against fp32"], rows), "", *textwrap.wrap(text, 120),
            *source((name, record), (larger, alone))]


def sums(_):
    name = "sums_h200.json"
    record = load(name)
    if record is None:
        return missing(name)
    rows = []
    for size, of_size in record["sizes"].items():
        for which, runs in of_size.items():
            joules = [run["joules_per_frame"] for run in runs if "joules_per_frame" in run]
            rows.append([size, which, ", ".join(f"{run['fps_clip']:.1f}" for run in runs),
                         ms(sum(run["seconds_per_step"] for run in runs) / len(runs)),
                         ", ".join(f"{each:.2f}" for each in joules) or "not measured",
                         ", ".join(f"{1 / each:.3f}" for each in joules) or "not measured",
                         f"{max(run['peak_device_bytes'] for run in runs) / 2.0 ** 30:.2f} GiB"])
    return markdown(["61 frames of", "sums", "frames/s", "ms a step", "J a frame", "frames a joule", "memory"],
                    rows) + source((name, record))


def floor_of(cudnn, taken, eligible):
    """Seconds of a step whose layers each take the longer of their multiplications at the matrix product's rate and
    their bytes at the copy's rate. Of its multiplications, a layer after an upsampling counts 4/9 (those on the small
    image), and a layer in `eligible` the share `taken`."""
    seconds = 0.0
    for layer in cudnn["layers"]:
        part = 4 / 9 if " 1x3x3," in layer["layer"] else taken if layer["layer"] in eligible else 1.0
        products = part * layer["flops"] / (cudnn["matmul_bf16_tflops"] * 1e12)
        seconds += layer["launches"] * max(products, layer["bytes"] / cudnn["copy_bytes_per_second"])
    return seconds


def floors(_):
    """How far the decoder is from the floors of exact and of fast sums."""
    name = "sums_h200.json"
    record = load(name)
    rows, sources = [], {name: record}
    for size in ("1280x704", "832x480"):
        names = f"conv_h200_{size}.json", f"cudnn_h200_{size}.json"
        ours, cudnn = (load(each) for each in names)
        if record is None or ours is None or cudnn is None:
            return missing(name, *names)
        eligible = {layer["layer"] for layer in ours["layers"]
                    if any(result["backend"].startswith("winograd-") for result in layer["backends"])}
        sources[names[1]] = cudnn
        for sums, taken in (("exact", 1.0), ("fast", 4 / 6)):
            seconds = floor_of(cudnn, taken, eligible)
            best = max(record["sizes"][size][f"{sums}, bf16"], key=lambda run: run["fps_clip"])["fps_clip"]
            rows.append([size, sums, ms(seconds), f"{4 / seconds:.1f}", f"{best:.1f}",
                         f"{100 * best * seconds / 4:.0f} %"])
    return markdown(["61 frames of", "sums", "floor, ms a step", "frames/s", "recorded frames/s", "of the floor"],
                    rows) + source(*sources.items())


def default(_):
    """What fast sums give and cost, in two sentences."""
    names = "sums_h200.json", "pictures_cpu.json"
    record, pictures_of = (load(name) for name in names)
    if record is None or pictures_of is None:
        return missing(*names)
    rates = [f"{of['fast, bf16'][0]['fps_clip'] / of['exact, bf16'][0]['fps_clip']:.2f} times the rate at {size}"
             for size, of in record["sizes"].items()]
    costs = [of["exact, bf16"] - of["fast, bf16"] for of in pictures_of["psnr_db"].values()]
    memory = max(of["fast, bf16"][0]["peak_device_bytes"] / of["exact, bf16"][0]["peak_device_bytes"]
                 for of in record["sizes"].values())
    return [f"In bf16 fast sums give {' and '.join(rates)}, for at most",
            f"{100 * (memory - 1):.0f} % more memory, and cost {min(costs):.1f} to {max(costs):.1f} dB against fp32."]


def pictures(_):
    """PSNR on the CPU, and of the H200's decodes beside PyTorch."""
    name, on_gpu = "pictures_cpu.json", "decode_h200.json"
    record, gpu = load(name), load(on_gpu)
    if record is None or gpu is None:
        return missing(name, on_gpu)
    kinds = ("fast, fp32", "exact, bf16", "fast, bf16", "exact, fp16", "fast, fp16")
    clips = {**{f"{what}, {record['size']}, CPU": of for what, of in record["psnr_db"].items()},
             **{f"{what}, H200": of for what, of in gpu["psnr_db_of_kinds"].items()}}
    rows = [[what, *(f"{of[kind]:.1f} dB" if kind in of else "" for kind in kinds)] for what, of in clips.items()]
    return (markdown(["clip, against fp32 with exact sums", *kinds], rows) + ["", *processor_seconds(record)]
            + source((name, record), (on_gpu, gpu)))


def processor_seconds(record):
    """Processor time of a step on the CPU, by sums, with the spread of the rounds."""
    steps = record["processor_seconds_per_step_bf16"]
    fast = steps["fast"]["median"]
    rows = [[which.replace("before", f"commit {record.get('commit_before', '')[:9]}"), f"{of['median']:.2f}",
             f"{of['min']:.2f} to {of['max']:.2f}", f"{of['median'] / fast:.2f}"] for which, of in steps.items()]
    return markdown(["a step of orbit, demo decoder, 512x288, bf16", "s of processor time", "rounds",
                     "fast is so many times as fast"], rows)


def hopper(_):
    """What one H100 and one H200 give, alone: the clip's rates, and a step's convolutions."""
    kinds, sizes = ("exact", "fast"), ("1280x704", "832x480")
    rows, sources = [], {}
    for chip in ("h100", "h200"):
        names = [f"decode_{of}_{size}_{chip}.json" for size in sizes for of in kinds]
        convolutions = f"declared_{chip}_1280x704.json"
        records = {name: load(name) for name in (*names, convolutions)}
        if None in records.values():
            return missing(*records)
        sources |= records
        rows.append([chip.upper(), *(f"{records[name]['fps_clip']:.1f}" for name in names),
                     *(ms(records[convolutions]["seconds_per_step_of_sums"][of]) for of in kinds)])
    titles = [f"frames/s at {size}, {of} sums" for size in sizes for of in kinds]
    return markdown(["", *titles, "convolutions of a step at 1280x704, exact, ms", "fast, ms"],
                    rows) + source(*sources.items())


def beside(_):
    """Every family beside its public decoders, in one session each."""
    name = "families_beside_h200.json"
    record = load(name)
    if record is None:
        return missing(name)
    sizes = ("832x480", "1280x704")
    rows = []
    for family, measured in record["families"].items():
        ours = measured["decoders"]["kinetograph"]
        row = [f"`{family}`, {measured['precision']}"]
        for size in sizes:
            if size not in ours["sizes"]:
                row += ["not measured", "", ""]
                continue
            others = {who: of["sizes"][size] for who, of in measured["decoders"].items()
                      if who != "kinetograph" and size in of["sizes"]}
            fastest = max(others, key=lambda who: others[who]["fps_clip"])
            pair = ours["sizes"][size], others[fastest]
            firsts = [each.get("seconds_first_frame", each.get("seconds_first_frame_after_load")) for each in pair]
            row += [f"{pair[0]['fps_clip']:.0f} : {pair[1]['fps_clip']:.0f} ({fastest})",
                    " : ".join(f"{1e3 * first:.1f}" for first in firsts) + " ms",
                    " : ".join(f"{each['peak_device_bytes'] / 2.0 ** 20:.0f}" for each in pair) + " MiB"]
        psnr = [ours["psnr_db"], measured["decoders"][fastest]["psnr_db"]]
        rows.append([*row, " : ".join(f"{each:.1f}" for each in psnr) + " dB" if all(psnr) else "not measured"])
    titles = [title for size in sizes for title in (f"{size}, frames/s", "first frame", "memory")]
    commits = {}
    for measured in record["families"].values():
        commits.setdefault(measured["machine"]["device"], {})[measured["commit"][:9]] = None
    sources = [f"(`bench/results/{name}`: {device}, commits {', '.join(of)}; their commands are in the file)"
               for device, of in commits.items()]
    return markdown(["family, ours : the fastest peer", *titles, "against fp32"], rows) + ["", *sources]


def kind_of_pass(name):
    kinds = {"unpack_latents": "latents to the network's layout, with their first convolution",
             "write_frames": "frames to their layout in device memory"}
    if name.endswith(".keep"):
        return "copies of frames that stay for the next step"
    other = "attention" if name.endswith(".attention") else "convolutions, with norms, sums and residuals"
    return kinds.get(name, other)


def passes(_):
    """By kind, of a step in which every pass is timed by itself."""
    name = "decode_h200.json"
    record = load(name)
    if record is None:
        return missing(name)
    rows, titles = {}, ["passes", "number"]
    for size, result in record["sizes"].items():
        titles += [f"{size}, ms", "of the step"]
        costs = result["kinetograph"]["passes"]
        step = sum(cost["seconds_median"] for cost in costs)
        for kind in dict.fromkeys(kind_of_pass(cost["name"]) for cost in costs):
            seconds = [cost["seconds_median"] for cost in costs if kind_of_pass(cost["name"]) == kind]
            rows.setdefault(kind, [kind, str(len(seconds))])
            rows[kind] += [ms(sum(seconds)), f"{100 * sum(seconds) / step:.1f} %"]
        rows.setdefault("all", ["all of a step", str(len(costs))])
        rows["all"] += [ms(step), ""]
    rows["all"] = rows.pop("all")
    return markdown(titles, rows.values()) + source((name, record))


def interop_table(name, record):
    rows = [[f"{route['route']}, one by one", f"{1e6 * route['seconds_one_by_one']['median']:.1f} us"]
            for route in record["routes"]]
    rows += [[f"{route['route']}, in a row", f"{1e6 * route['seconds_batched']:.1f} us"] for route in record["routes"]]
    rows += [["one hand-over, one by one", f"{1e6 * record['seconds_hand_over_one_by_one']:.1f} us"],
             ["one hand-over, in a row", f"{1e6 * record['seconds_hand_over_batched']:.1f} us"]]
    if "decode" in record:
        decode = record["decode"]
        rows.append([f"a step at {decode['width']}x{decode['height']}, picture to picture",
                     f"{ms(decode['seconds_per_step']['median'])} ms"])
        share = decode.get("share_of_interop_and_drawing")
        if share is None:
            rows.append(["interop and drawing", "not measured yet"])
        else:
            percent = {key: f"{100 * share[key]:.2f}" for key in ("median", "min", "max")}
            rows += [["decoded only, step to step", f"{ms(decode['seconds_per_step_decoded_only']['median'])} ms"],
                     ["interop and drawing", f"{percent['median']} % of the step, {percent['min']} to "
                                             f"{percent['max']} in {share['count']} rounds"]]
        rows.append(["a step's work on the host, drawing included", f"{ms(decode['seconds_host']['median'])} ms"])
    return markdown(["what", "measured"], rows) + source((name, record))


def interop(_):
    name = "interop_h200.json"
    record = load(name)
    return missing(name) if record is None else interop_table(name, record)


def cpu(_):
    names = "decode_cpu.json", "preview_cpu.json", "graph_compile.json"
    decode, tiny, graph = (load(name) for name in names)
    if decode is None or tiny is None or graph is None:
        return missing(*names)
    ratio, psnr, cost = decode["ratio_to_pytorch"], decode["psnr_db"], graph["results"]
    compiled, reused = cost["compile_plan"]["cpu_us_median"], cost["reuse_plan"]["cpu_us_median"]
    return markdown(["what", "result", "command, commit"], [
        [f"demo clip at {decode['width']}x{decode['height']}, eager PyTorch fp32 as 1",
         f"fp32 {ratio['fp32']:.1f}, bf16 {ratio['bf16']:.1f}", f"`{command_of(decode)}`, {decode['commit'][:7]}"],
        ["the same clip against PyTorch's frames", f"fp32 {psnr['fp32']:.0f} dB, bf16 {psnr['bf16']:.0f} dB",
         "the same"],
        [f"the tiny decoder of the demo clips at {tiny['width']}x{tiny['height']}, bf16",
         f"{tiny['fps_two_threads']:.1f} frames/s, {1e3 * tiny['processor_seconds_per_frame']:.0f} ms of processor "
         "time a frame",
         f"`{command_of(tiny).split(' --')[0]}`, {tiny['commit'][:7]}"],
        ["compiling a graph of 1,000 passes; reusing its plan",
         f"{compiled / 1e3:.2f} ms; {reused:.1f} us (median CPU time)",
         f"`{command_of(graph).split(' --')[0]}`, {graph['commit'][:7]}"]])


def profiler(which):
    name = f"profiler_{which}.json"
    record = load(name)
    if record is None:
        return missing(name)
    if which == "cpu":
        us = {key: result["cpu_us_median"] for key, result in record["results"].items()}
        return markdown(["record a span, names known as numbers", "by its names", "take over a step of 1,000 passes",
                         "draw all panels of 1,000 passes", "with a kept step"],
                        [[f"{us['record_span/threads:1'] * 1e3:.0f} ns",
                          f"{us['record_span_by_name/threads:1'] * 1e3:.0f} ns",
                          *(f"{us[key]:.0f} us" for key in ("take_over_a_step/1000", "draw_panels/1000",
                                                            "draw_a_kept_step/1000"))]])
    watches = {each["profiler"]: each["overhead"] for each in record["watches"]}
    times, clocks = record["pass_times"], record["alignment"]
    worst = next(each for each in times["passes"] if each["name"] == times["worst_pass"])

    def row(title, relative):
        return [title, f"{100 * relative['median']:.2f} %",
                f"{100 * relative['min']:.1f} to {100 * relative['max']:.1f}"]
    text = (f"Of {len(times['passes'])} passes the median differs by {100 * times['median_difference']:.2f} %. CUDA's "
            f"and Vulkan's clocks placed one moment {1e6 * clocks['distance_seconds']['median']:.0f} us apart (median "
            f"of {clocks['distance_seconds']['count']}, at most {1e6 * clocks['distance_seconds']['max']:.0f} us); "
            f"their lanes state +-{1e6 * clocks['accelerator_error_seconds']:.0f} and "
            f"+-{1e6 * clocks['vulkan_error_seconds']:.0f} us.")
    return [*markdown(["more than without a recorder", "median", "least to most between rounds"],
                      [row(title, watches[key]) for title, key in (
                          ("decoder alone", "decoder only"), ("panels hidden", "hidden"), ("panels shown", "shown"))]),
            "", *markdown(["times by the profiler beside events without it", "median", "least to most between rounds"],
                          [row("sum of a step's passes, a step", times["difference"]),
                           row(f"the worst pass, {worst['name']}", worst["difference"])]),
            "", *textwrap.wrap(text, 120)]


def soak(_):
    """A tiny decoder's many steps, and a long clip: what a process holds before and after."""
    kinds = {"accelerator_bytes": "accelerator", "vulkan_bytes": "Vulkan", "resident_bytes": "process"}
    names = {"soak_h200.json": "dim 32, 64x64", "long_h200.json": "dim 96, 832x480"}
    records = {name: load(name) for name in names}
    if None in records.values():
        return missing(*names)
    rows = [[what, str(record["soak"]["steps"]), f"{record['soak']['seconds']:.1f}",
             "; ".join(record["soak"]["changes"]) or "nothing grew or drifted",
             *(f"{record['soak']['before'][key]} and {record['soak']['after'][key]}" for key in kinds)]
            for what, record in zip(names.values(), records.values())]
    return markdown(["decoder", "steps", "s", "", *(f"{kind}: bytes before and after" for kind in kinds.values())],
                    rows) + source(*records.items())


def python(_):
    name = "python_h200.json"
    record = load(name)
    if record is None:
        return missing(name)
    parts, gib = record["parts"], 2.0 ** 30
    rate, overhead, soak, vae = (parts[part] for part in ("rate", "overhead", "soak", "diffusers"))
    rows = [[f"decode() of {rate['frames']} frames at {rate['size']}", f"{rate['fps_decode']:.1f} frames/s, "
             f"{rate['ratio']:.3f} times the {rate['fps_bench']:.1f} of `kinetograph bench decode`"]]
    rows += [[f"{call}(), of the calling thread", f"{us['median']:.0f} us median, {us['p99']:.0f} us 99th percentile"]
             for call, us in overhead["calls_us"].items()]
    rows.append([f"decode() of one latent frame at {overhead['size']}, beyond its step on the device",
                 f"{overhead['decode_of_one_latent_frame_us']['median'] - overhead['its_step_on_device_us']:.0f} us "
                 "median"])
    grown = {key: soak["after"][key] - soak["before"][key]
             for key in ("resident", "torch_reserved", "frames_held", "objects")}
    used = soak["before"]["device_free"] - soak["after"]["device_free"]
    rows.append([f"{soak['cycles']} cycles of push() and frames() at {soak['size']}",
                 f"{used} bytes of the device more, {grown['resident']} of the process, {grown['torch_reserved']} of "
                 f"torch's; {grown['objects']} objects, {grown['frames_held']} frames"])
    yes = {True: "yes", False: "NO"}
    pictures = all(parts["pictures"].values())
    rows.append(["pictures are those of `kinetograph decode`, bit for bit", yes[pictures]])
    rows.append(["torch's allocator as it was after 50 cycles", yes[parts["allocator"]["undisturbed"]]])
    captures = parts["capture"]
    rows.append(["a CUDA graph captured meanwhile replays what it should",
                 yes[captures["while_another_thread_decodes"] and captures["while_the_same_thread_pushes"]]])
    vaes = [[title, f"{of['fps']:.1f}", f"{of['torch_peak_bytes'] / gib:.2f} GiB",
             f"{of.get('library_bytes', 0) / gib:.2f} GiB",
             f"{of['psnr_db']:.1f} dB"] for title, of in ((f"diffusers {vae['diffusers']}", vae["original"]),
                                                          ("replaced", vae["replaced"]))]
    return (markdown(["what", "measured"], rows)
            + ["", f"AutoencoderKLWan in bf16, {rate['frames']} frames at {vae['size']}:", ""]
            + markdown(["VAE", "frames/s", "torch's peak", "the library's", "against its float32"], vaes)
            + source((name, record)))


TABLES = {"roofline": roofline, "declared": declared, "peers": peers, "hopper": hopper, "beside": beside, "sums": sums,
          "floors": floors, "pictures": pictures, "default": default, "passes": passes, "interop": interop,
          "soak": soak, "cpu": cpu, "profiler": profiler, "python": python}


def filled(text):
    """`text` with its tables. A record's commit and command stand where the document names it first."""
    named = set()

    def once(line):
        if not line.startswith("(`bench/results/"):
            return line
        if line in named:
            return line[:line.index("`:") + 1] + ", see above)"
        named.add(line)
        return line

    def table(match):
        name, size = match.group(1), match.group(2)
        return "\n".join([f"<!-- {name} {size} -->", *map(once, TABLES[name](size)), "<!-- end -->"])
    return re.sub(r"<!-- (\w+) (\S+) -->\n.*?<!-- end -->", table, text, flags=re.DOTALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    options = parser.parse_args()
    wrong = 0
    for document in DOCUMENTS:
        before = document.read_text()
        after = filled(before)
        if not options.check:
            document.write_text(after)
        elif before != after:
            print(f"{document.relative_to(ROOT)} is not what bench/results says: run "
                  "bench/tables/performance_tables.py")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
