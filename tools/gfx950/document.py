#!/usr/bin/env python3
"""Fills the tables of docs/kernels-gfx950.md with what estimate.py reads from the compiled kernels and the dispatch.

    tools/gfx950/document.py BUILD_FOLDER docs/kernels-gfx950.md            writes them into the page
    tools/gfx950/document.py BUILD_FOLDER docs/kernels-gfx950.md --check    exit code 1 if the page says otherwise

A table is between `<!-- NAME -->` and `<!-- end -->`, with a NAME of TABLES.
"""

import argparse
import math
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import estimate  # noqa: E402

SIZES = ("832x480", "1280x704")
TOLERANCE = 0.01  # of a number; whole numbers may also differ by one

# What may limit a prediction: names of estimate's constants with the factor that makes them 20 % worse.
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
# LDS at the rate that AMD states, with the kernels that are chosen for it
STATED = {"LDS_READ_BYTES": estimate.STATED_LDS_READ_BYTES / estimate.LDS_READ_BYTES}
RATES = {"": "128", "stated": "256"}  # bytes of LDS a clock: as assumed everywhere else, and as AMD states
MISSED = "missed"  # the constants as assumed, but L2 misses as much as it can and waves are not in step


class Predictions:
    """Seconds of every pass: as assumed, with each constant 20 % worse, and with LDS at the stated rate."""

    def __init__(self, build, tools):
        self.planner = estimate.planner_of(build)
        self.kernels = estimate.conv_kernels(build, "bf16", tools)
        attentions = estimate.attention_loops(build, tools)
        self.eight_waves = [(kernel.name, estimate.objects.main_loop(instructions).body(instructions))
                            for kernel, instructions in estimate.compiled(build, "eight_waves", tools,
                                                                          "tests/kernels/code_objects")]
        self.steps = {step: self.planned(*step)
                      for step in ((family, size) for family in ("wan2.1", "wan2.2") for size in SIZES)}
        with estimate.constants(STATED):
            self.stated = {step: self.planned(*step) for step in self.steps}
        used = {estimate.kernel_of(layer) for steps in (self.steps, self.stated) for layers, _ in steps.values()
                for layer in layers}
        multiplying = {other.kernel for _, others in self.steps.values() for other in others if other.key_tiles}
        self.named, self.attentions = {"": {kernel.name: kernel for kernel in self.kernels}}, {}
        self.least = estimate.least_reached(self.named[""])
        for worse, factors in {"": {}, **WORSE, "stated": STATED}.items():
            with estimate.constants(factors):
                moves_loops = factors.keys() - {"CLOCK", "HBM_BYTES", "NORM_CYCLES", "LAUNCH"}
                if worse:
                    self.named[worse] = {name: self.named[""][name].again() if moves_loops else self.named[""][name]
                                         for name in used}
                self.attentions[worse] = {name: estimate.attention_cycles(name, attentions[name])
                                          for name in multiplying}

    def planned(self, family, size):
        return estimate.decoder_step(self.planner, family, *map(int, reversed(size.split("x"))))

    def seconds(self, layer, worse=""):
        """Seconds (of a launch, of the passes after it)."""
        if worse == MISSED:
            name = estimate.kernel_of(layer)
            return layer.seconds({name: estimate.worst(layer, self.named[""][name])})
        with estimate.constants(WORSE.get(worse, {})):
            return layer.seconds(self.named[worse])

    def others_seconds(self, step, worse="", kind=None):
        """Seconds of the passes that are not convolutions, or of one kind of them."""
        worse = "" if worse == MISSED else worse
        with estimate.constants(WORSE.get(worse, {})):
            return sum(other.seconds(self.attentions[worse]) for other in self.passes_of(step, worse)[1]
                       if kind in (None, other.kind))

    def passes_of(self, step, worse=""):
        return (self.stated if worse == "stated" else self.steps)[step]

    def convolutions(self, step, worse="", part=slice(2)):
        """Seconds of the convolutions and of the passes after them; `part` selects one of the two."""
        return sum(layer.launches * sum(self.seconds(layer, worse)[part]) for layer in self.passes_of(step, worse)[0])

    def sum(self, step, worse=""):
        """Seconds of all passes."""
        return self.convolutions(step, worse) + self.others_seconds(step, worse)


def us(seconds):
    return f"{1e6 * seconds:.0f}"


def kernel_text(layer):
    first, *after = layer.kernels.split(", then ")
    first = first.replace("_uniform", "")
    normed = "+norm" if layer.norm or "rms_norm_bf16" in after else ""
    return first.replace(" / ", "/") + ("+join" if "join_sums_bf16" in after else "") + normed


def merged(rows):
    """The rows without those that equal an earlier one but for name and launches; the launches are added to its own."""
    kept = []
    for row in rows:
        same = [other for other in kept if other[2:] == row[2:]]
        if same:
            same[0][1] = str(int(same[0][1]) + int(row[1]))
        else:
            kept.append(row)
    return kept


def shape(layer):
    return [layer.name, str(layer.launches), f"{layer.c_in}>{layer.c_out}", "x".join(map(str, layer.taps))]


def launch(of, layer, worse=""):
    time, after = of.seconds(layer, worse)
    return us(time) + (f"+{us(after)}" if after else "")


def between(of, layer):
    """us of a launch where LDS has the stated rate, to those where L2 misses, and of the passes after it."""
    (low, _), (high, after) = (of.seconds(layer, worse) for worse in ("stated", MISSED))
    return f"{us(low)} to {us(high)}" + (f", +{us(after)}" if after else "")


def wan21(of):
    """A row for all layers of the same shape, kernels and predictions at both sizes."""
    headings = ["first such layer", "launches", "channels", "taps"]
    for size in SIZES:
        headings += [f"{size}: kernel", "us"]
    rows = []
    for pair in zip(*(of.steps[("wan2.1", size)][0] for size in SIZES)):
        row = shape(pair[0])
        for layer in pair:
            text = kernel_text(layer)
            row += ['"' if layer is pair[1] and text == kernel_text(pair[0]) else text, between(of, layer)]
        rows.append(row)
    return headings, merged(rows)


def step(of):
    columns = [(("wan2.1", size), worse) for worse in (*RATES, MISSED) for size in SIZES]

    def row(name, value, places=2):
        return [name, *(f"{1e3 * value(*column):.{places}f}" for column in columns)]

    def products(step, worse):
        return sum(layer.launches * layer.flops for layer in of.passes_of(step, worse)[0]) / (estimate.COMPUTE_UNITS
                                                                                              * 4096 * estimate.CLOCK)

    def title(worse):
        return "misses and stalls" if worse == MISSED else f"LDS {RATES[worse]}"

    return ["a step, ms", *(f"{size}, {title(worse)}" for (_, size), worse in columns)], [
        row("convolutions", lambda *column: of.convolutions(*column, slice(1))),
        row("passes that add parts and norm after them", lambda *column: of.convolutions(*column, slice(1, 2))),
        *(row(f"{other.kind}, {other.launches} launch" + "es" * (other.launches > 1),
              lambda *column, kind=other.kind: of.others_seconds(*column, kind))
          for other in of.steps[("wan2.1", SIZES[0])][1]),
        row("**sum**", of.sum, 1),
        row("the same at MAX's least share", lambda *column: of.sum(*column) / of.least, 1),
        row("the products alone, all matrix units", products)]


def choices(of):
    """The layers that get another kernel at the LDS rate that AMD states."""
    rows = []
    for pair in zip(*(of.passes_of(("wan2.1", SIZES[1]), worse)[0] for worse in RATES)):
        if kernel_text(pair[0]) != kernel_text(pair[1]):
            rows.append(shape(pair[0]) + [cell for worse, layer in zip(RATES, pair)
                                          for cell in (kernel_text(layer), launch(of, layer, worse))])
    return ["first such layer", "launches", "channels", "taps",
            *(cell for rate in RATES.values() for cell in (f"LDS {rate}: kernel", "us"))], merged(rows)


def waves(of):
    """Cycles of two k blocks of 64 channels: of eight waves in one workgroup, and of the fastest kernel for the same
    products."""
    rows = []
    for name, body in of.eight_waves:
        bm, bn, bk = map(int, re.search(r"(\d+)x(\d+)x(\d+)", name).groups())
        row = [f"{bm}x{bn}x{bk}"]
        for factors in ({}, STATED):
            with estimate.constants(factors):
                eight = estimate.loop_cycles(body, 2, together=2)
                four = [(kernel.again().trip_cycles[-1] * bm * bn
                         * bk / (len(kernel.trip_cycles) * math.prod(kernel.tile)), kernel.tile,
                         len(kernel.trip_cycles))
                        for kernel in of.kernels if kernel.loader == "uniform" and bn % kernel.tile[1] == 0]
            cycles, tile, workgroups = min(four)
            row += [f"{eight:.0f}", f"{cycles:.0f}", ("two " if workgroups == 2 else "") + "x".join(map(str, tile))]
        rows.append(row)
    return ["tile",
            *(cell for rate in RATES.values() for cell in (f"LDS {rate}: eight waves", "four waves", "of"))], rows


def sums(of):
    """Sums of all passes; constants that change none of them by more than 1 % are left out."""
    moving = [worse for worse in WORSE if any(of.sum(step, worse) > 1.01 * of.sum(step) for step in of.steps)]
    return ["all passes, ms", "as assumed", *moving], [
        [f"{family}, {size}", *(f"{1e3 * of.sum((family, size), worse):.1f}" for worse in ("", *moving))]
        for family, size in of.steps]


def rows(of):
    return estimate.rows_table(estimate.chosen(estimate.ROWS, of.planner), of.kernels)


TABLES = {"rows": rows, "wan21": wan21, "step": step, "choices": choices, "waves": waves, "sums": sums}


def markdown(headings, lines):
    return ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings),
            *("| " + " | ".join(line) + " |" for line in lines)]


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
        close = all(abs(float(a) - float(b)) <= max(TOLERANCE * float(b), 10.0 ** -len(b.partition(".")[2]))
                    for a, b in numbers)
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
    print(f"{len(found)} differences"
          + ("; tools/gfx950/document.py writes what the tables should be" if found else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
