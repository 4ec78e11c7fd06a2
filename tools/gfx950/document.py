#!/usr/bin/env python3
"""Fills the tables of docs/kernels-gfx950.md with what estimate.py reads from the compiled kernels and the dispatch.

    tools/gfx950/document.py BUILD_FOLDER docs/kernels-gfx950.md            writes them into the page
    tools/gfx950/document.py BUILD_FOLDER docs/kernels-gfx950.md --check    exit code 1 if the page says otherwise

A table is between `<!-- NAME -->` and `<!-- end -->`, with a NAME of TABLES.
"""

import argparse
import contextlib
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import estimate  # noqa: E402

SIZES = ("832x480", "1280x704")
TOLERANCE = 0.01  # of a number; whole numbers may also differ by one

# What a prediction may hang on: names of estimate's constants with the factor that makes them 20 % worse.
WORSE = {
    "clock": {"CLOCK": 0.8},
    "matrix units": {"MATRIX": 1.25},
    "issue": {"ISSUE": 1.2},
    "LDS": {"LDS_READ_BYTES": 0.8, "LDS_WRITE_BYTES": 0.8},
    "L2": {"L2_BYTES": 0.8},
    "HBM": {"HBM_BYTES": 0.8},
    "memory latency": {"MEMORY_LATENCY": 1.2},
    "LDS latency, barriers": {"LDS_LATENCY": 1.2, "BARRIER": 1.2, "BRANCH": 1.2},
    "norm": {"NORM_CYCLES": 1.2},
    "launch": {"LAUNCH": 1.2},
}
# Of a Wan 2.1 step besides its convolutions, at the page's rates: attention by what it reads from LDS in whole rounds of
# workgroups, the ends by the bytes of latents in and float32 frames out.
ATTENTION_US = {"832x480": 56, "1280x704": 287}
ENDS_US = {"832x480": 5, "1280x704": 11}


@contextlib.contextmanager
def constants(factors):
    """estimate's constants times `factors` for the time of the block."""
    kept = {name: getattr(estimate, name) for name in factors}
    for name, factor in factors.items():
        scaled = tuple((form, cycles * factor) for form, cycles in kept[name]) if name == "MATRIX" else kept[name] * factor
        setattr(estimate, name, scaled)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(estimate, name, value)


class Predictions:
    """Seconds of every layer, as assumed and with each constant 20 % worse."""

    def __init__(self, build, tools):
        self.planner = estimate.planner_of(build)
        self.kernels = [estimate.ConvKernel.of(*compiled) for compiled in estimate.compiled(build, "bf16", tools)]
        self.steps = {(family, size): estimate.decoder_layers(self.planner, family, *map(int, reversed(size.split("x"))))
                      for family in ("wan2.1", "wan2.2") for size in SIZES}
        used = {estimate.kernel_of(layer) for layers in self.steps.values() for layer in layers}
        self.named = {"": {kernel.name: kernel for kernel in self.kernels}}
        for worse, factors in WORSE.items():
            with constants(factors):
                moves_loops = factors.keys() - {"CLOCK", "HBM_BYTES", "NORM_CYCLES", "LAUNCH"}
                self.named[worse] = {name: self.named[""][name].again() if moves_loops else self.named[""][name] for name in used}

    def seconds(self, layer, worse=""):
        """(of a launch, of the passes after it)."""
        with constants(WORSE.get(worse, {})):
            return layer.seconds(self.named[worse])

    def sum(self, step, worse=""):
        return sum(layer.launches * sum(self.seconds(layer, worse)) for layer in self.steps[step])

    def limit(self, layer):
        """The constant besides the clock with the greatest effect on a layer and its passes."""
        return max((worse for worse in WORSE if worse != "clock"), key=lambda worse: sum(self.seconds(layer, worse)))


def us(seconds):
    return f"{1e6 * seconds:.0f}"


def kernel_text(layer):
    first, *after = layer.kernels.split(", then ")
    first = first.replace("_uniform", "")
    normed = "+norm" if layer.norm or "rms_norm_bf16" in after else ""
    return first.replace(" / ", "/") + ("+join" if "join_sums_bf16" in after else "") + normed


def worse(of, layer):
    """What the layer and its passes would take with the constant that it hangs on, and with the clock: "LDS:70 clock:71"."""
    return " ".join(f"{constant.replace(' ', '-')}:{us(sum(of.seconds(layer, constant)))}" for constant in (of.limit(layer), "clock"))


def wan21(of):
    """A row for all layers of the same shape, kernels and predictions at both sizes."""
    headings = ["first such layer", "launches", "channels", "taps"]
    for size in SIZES:
        headings += [f"{size}: kernel", "us", "20 % worse"]
    rows = []
    for pair in zip(*(of.steps[("wan2.1", size)] for size in SIZES)):
        layer = pair[0]
        row = [layer.name, str(layer.launches), f"{layer.c_in}>{layer.c_out}", "x".join(map(str, layer.taps))]
        for layer in pair:
            time, after = of.seconds(layer)
            text = kernel_text(layer)
            row += ['"' if layer is pair[1] and text == kernel_text(pair[0]) else text, us(time) + (f"+{us(after)}" if after else ""), worse(of, layer)]
        same = [other for other in rows if other[2:] == row[2:]]
        if same:
            same[0][1] = str(int(same[0][1]) + int(row[1]))
        else:
            rows.append(row)
    return headings, rows


def step(of):
    def row(name, value, places=2):
        return [name, *(f"{1e3 * value(size):.{places}f}" for size in SIZES)]

    def parts(size, which):
        return sum(layer.launches * of.seconds(layer)[which] for layer in of.steps[("wan2.1", size)])

    flops = {size: sum(layer.launches * layer.flops for layer in of.steps[("wan2.1", size)]) for size in SIZES}
    return ["a step, ms", *SIZES], [
        row("convolutions", lambda size: parts(size, 0)), row("passes that add parts and norm after them", lambda size: parts(size, 1)),
        row("attention (LDS at 128 bytes a clock)", lambda size: 1e-6 * ATTENTION_US[size]),
        row("latents in, float32 frames out", lambda size: 1e-6 * ENDS_US[size]),
        row("**sum**", lambda size: of.sum(("wan2.1", size)) + 1e-6 * (ATTENTION_US[size] + ENDS_US[size]), 1),
        row("the products alone, all matrix units", lambda size: flops[size] / (estimate.COMPUTE_UNITS * 4096 * estimate.CLOCK))]


def sums(of):
    """Without the constants that move no sum by a hundredth."""
    moving = [worse for worse in WORSE if any(of.sum(step, worse) > 1.01 * of.sum(step) for step in of.steps)]
    return ["convolutions and passes after them, ms", "as assumed", *moving], [
        [f"{family}, {size}", *(f"{1e3 * of.sum((family, size), worse):.1f}" for worse in ("", *moving))] for family, size in of.steps]


def rows(of):
    return estimate.rows_table(estimate.chosen(estimate.ROWS, of.kernels, of.planner))


def loops(of):
    """Of the kernels that the steps take, and of padded pixels."""
    used = {estimate.kernel_of(layer) for layers in of.steps.values() for layer in layers}
    headings, lines = estimate.loops_table([kernel for kernel in of.kernels if kernel.name in used or kernel.loader == "padded"])
    kept = [at for at, heading in enumerate(headings) if heading not in ("products", "instructions", "waits", "cycles around")]
    return [headings[at] for at in kept], [[line[at] for at in kept] for line in lines]


TABLES = {"rows": rows, "wan21": wan21, "step": step, "sums": sums, "loops": loops}


def markdown(headings, lines):
    return ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings), *("| " + " | ".join(line) + " |" for line in lines)]


def filled(text, of):
    def table(match):
        return "\n".join([f"<!-- {match[1]} -->", *markdown(*TABLES[match[1]](of)), "<!-- end -->"])
    return re.sub(r"<!-- (\w+) -->\n.*?<!-- end -->", table, text, flags=re.DOTALL)


NUMBER = re.compile(r"\d+(?:\.\d+)?")


def differences(page, wanted):
    """Lines of `page` that differ from `wanted` in words, or in numbers by more than the tolerance, as sentences."""
    found = []
    said, meant = page.splitlines(), wanted.splitlines()
    if len(said) != len(meant):
        return [f"the tables have {len(meant) - len(said):+d} lines"]
    for at, (line, other) in enumerate(zip(said, meant), 1):
        numbers = list(zip(NUMBER.findall(line), NUMBER.findall(other)))
        close = all(abs(float(a) - float(b)) <= max(TOLERANCE * float(b), 10.0 ** -len(b.partition(".")[2])) for a, b in numbers)
        if NUMBER.sub("#", line) != NUMBER.sub("#", other) or not close:
            found.append(f"line {at} says\n  {line}\nand should say\n  {other}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--tools", help="folder with llvm-objdump; default: beside the compiler that toolchain finds")
    parser.add_argument("build")
    parser.add_argument("page")
    options = parser.parse_args()
    with open(options.page, encoding="utf-8") as file:
        page = file.read()
    wanted = filled(page, Predictions(options.build, options.tools or estimate.found_tools()))
    if not options.check:
        with open(options.page, "w", encoding="utf-8") as file:
            file.write(wanted)
        return 0
    found = differences(page, wanted)
    for sentence in found:
        print(f"{options.page}: {sentence}")
    print(f"{len(found)} differences" + ("; tools/gfx950/document.py writes what the tables should be" if found else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
