#!/usr/bin/env python3
"""Estimates the speed of FourWaveConv's compiled kernels on an MI355X, from their machine code and a table of costs.

    tools/gfx950/estimate.py BUILD_FOLDER --rows          against the published measurements
    tools/gfx950/estimate.py BUILD_FOLDER --step 480x832  a Wan 2.1 decoder's step
    tools/gfx950/estimate.py BUILD_FOLDER --step 480x832 --with LDS_READ_BYTES=256    the same with another constant
    tools/gfx950/estimate.py BUILD_FOLDER --loops         cycles of every main loop
    tools/gfx950/estimate.py BUILD_FOLDER --costs         the same as rows of four_wave_conv_costs.inc
    tools/gfx950/estimate.py BUILD_FOLDER --check-costs kernels/hip/gfx950
                                                          exit code 1 if the tables of costs there differ

BUILD_FOLDER has the code objects and gfx950_conv_plan, which prints the kernels that the dispatch takes for a
convolution and for the decoder's own layers.
The main loop is replayed instruction by instruction in the issue model below; the code around it counts with its issue
cycles along the shortest path that stores the whole tile. An estimate, not a measurement: docs/kernels-gfx950.md lists
what it omits.
"""

import argparse
import collections
import contextlib
import dataclasses
import math
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402
import code_object as objects  # noqa: E402

# The chip. AMD, "Instinct MI355X" data sheet: 256 compute units, 2.4 GHz, 8 TB/s. The sustained clock under matrix load
# (about 2.0 GHz) and the share of HBM's rate that streams reach (80 %) are what public measurements of such kernels
# show.
COMPUTE_UNITS = 256
CLOCK = 2.0e9
HBM_BYTES = 0.8 * 8e12

# Cycles of one SIMD. The four SIMDs that share LDS and cache are assumed to do the same at the same time.
ISSUE = 4              # a wave issues at most one instruction in 4 cycles ("CDNA3 ISA", wave64 on 16 lanes)
# AMD, matrix cores of CDNA4
MATRIX = (("16x16x32_", 16), ("16x16x128_f8f6f4", 32), ("16x16x4_f32", 32), ("32x32x16_", 32))
LDS_READ_BYTES = 128   # a cycle and compute unit: kLdsReadBytes of rates.hpp
STATED_LDS_READ_BYTES = 256  # kStatedLdsReadBytes of the same file
LDS_WRITE_BYTES = 128  # a cycle and compute unit
# a cycle and compute unit: 128 channels of 128 bytes for 256 units (ROCm compute profiler, gfx950)
L2_BYTES = 64
LDS_LATENCY = 64       # cycles; CDNA3 microbenchmarks give 55 to 70
MEMORY_LATENCY = 800   # cycles from issue to LDS, between an L2 hit (about 300) and HBM (about 1500)
MISSES = 0.0           # share of loads that L2 does not hold; Layer.misses() bounds it
# Beyond L2: 17.2 TB/s of Infinity Cache (AMD, CDNA3 white paper) for 256 units at 2.0 GHz, and HBM's latency.
BEYOND_L2_BYTES = 33
MISS_LATENCY = 1500
XCD_UNITS = 32
BARRIER = 24           # for the four waves to meet
STALL = 0              # more, where waves are not in step: LONGEST_STALL at most is assumed
LONGEST_STALL = 100
BRANCH = 16            # taken
NORM_CYCLES = 50       # for each value of a lane that the epilogue norms: kNormClocks of cost.cpp


@dataclasses.dataclass
class Wave:
    workgroup: int = 0
    at: int = 0            # next instruction of the body
    ready: float = 0.0     # when it may issue
    priority: int = 0
    memory: list = dataclasses.field(default_factory=list)  # completion times, oldest first
    lds: list = dataclasses.field(default_factory=list)


@contextlib.contextmanager
def constants(factors, values=()):
    """The constants of this file times `factors`, a number for each name, or with these (name, value), for the time of
    the block."""
    kept = {name: globals()[name] for name in (*factors, *dict(values))}
    globals().update(values)
    for name, factor in factors.items():
        globals()[name] = tuple((form, cycles * factor)
                                for form, cycles in MATRIX) if name == "MATRIX" else kept[name] * factor
    try:
        yield
    finally:
        globals().update(kept)


def matrix_cycles(mnemonic):
    for form, cycles in MATRIX:
        if form in mnemonic:
            return cycles
    raise ValueError(f"{mnemonic} is not in the table of costs")


def access_bytes(instruction):
    """Bytes of one wave's access."""
    for size, ending in ((16, ("x4", "b128")), (12, ("x3", "b96")), (8, ("x2", "b64"))):
        if instruction.mnemonic.endswith(ending):
            return 64 * size
    return 64 * 4


def loop_cycles(body, waves, trips=24, settle=8, together=1):
    """Cycles a trip in the steady state, with `waves` waves on each SIMD, all in this loop: in-order issue, the wave of
    the highest priority first, then the oldest; one matrix unit a SIMD; LDS and L2 as queues of the compute unit,
    shared with the other three SIMDs. A workgroup has `together` of a SIMD's waves, which meet at its barriers."""
    crew = [Wave(ready=i * 8.0, workgroup=i // together) for i in range(waves)]
    meeting = collections.defaultdict(list)  # the waves of each workgroup that are at its barrier
    vector_free = matrix_free = lds_free = memory_free = 0.0
    done, settled = 0, 0.0

    def issue_time(wave):
        name = body[wave.at].mnemonic
        if name.startswith("v_mfma"):
            return max(wave.ready, vector_free, matrix_free)
        return max(wave.ready, vector_free) if name.startswith("v_") else wave.ready

    while True:
        wave = min(crew, key=lambda each: (issue_time(each), -each.priority))  # among equals the oldest
        instruction = body[wave.at]
        name, now = instruction.mnemonic, issue_time(wave)
        if name.startswith("v_mfma"):
            matrix_free, vector_free = now + matrix_cycles(name), now + ISSUE
        elif name.startswith("v_"):
            vector_free = now + ISSUE
        elif name.startswith("ds_"):
            rate = LDS_READ_BYTES if name == "ds_read_b128" else LDS_WRITE_BYTES
            lds_free = max(lds_free, now) + 4 * access_bytes(instruction) / rate
            wave.lds.append(lds_free + LDS_LATENCY)
        elif re.match(r"(buffer|global)_(load|store)", name):
            size = access_bytes(instruction)
            memory_free = max(memory_free, now) + 4 * size * ((1 - MISSES) / L2_BYTES + MISSES / BEYOND_L2_BYTES)
            if check.is_load_to_lds(instruction):
                lds_free = max(lds_free, now) + 4 * size / LDS_WRITE_BYTES
            wave.memory.append(memory_free + (MISS_LATENCY if MISSES else MEMORY_LATENCY))
        elif name == "s_waitcnt":
            for counter, queue in (("vmcnt", wave.memory), ("lgkmcnt", wave.lds)):
                left = objects.wait_counts(instruction).get(counter)
                while left is not None and len(queue) > left:
                    now = max(now, queue.pop(0))
        elif name == "s_barrier":
            wave.at, wave.ready = wave.at + 1, math.inf
            met = meeting[wave.workgroup]
            met.append(wave)
            if len(met) == together:
                for each in met:
                    each.ready = now + BARRIER + STALL + ISSUE
                met.clear()
            continue
        elif name == "s_setprio":
            wave.priority = int(instruction.operands, 0)
        following = objects.branch_target(body, wave.at)
        wave.ready = now + ISSUE + (0 if following is None else BRANCH)
        wave.at = wave.at + 1 if following is None else following
        if wave.at == len(body) or following == 0:
            wave.at = 0
            done += 1
            if done == waves * settle:
                settled = wave.ready
            elif done == waves * trips:
                return (wave.ready - settled) / (trips - settle)


def with_priority(body):
    """The loop with s_setprio 1 before the first product after a barrier, and 0 before the next barrier."""
    result, raised = [], False
    for instruction in body:
        raises, lowers = instruction.mnemonic.startswith("v_mfma") and not raised, instruction.mnemonic == "s_barrier"
        if raises or lowers:
            result.append(objects.Instruction(instruction.address, "s_setprio", "1" if raises else "0", None))
            raised = raises
        result.append(instruction)
    return result


def spread(body):
    """The loop with its other instructions, in their order, spread evenly between its products: the most that
    scheduling groups could do, dependencies aside."""
    *once, back = objects.executed(body)
    products = [i for i in once if i.mnemonic.startswith("v_mfma")]
    others = [dataclasses.replace(i, target=None) for i in once if not i.mnemonic.startswith("v_mfma")]
    result = []
    for at, product in enumerate(products):
        result += [product, *others[at * len(others) // len(products):(at + 1) * len(others) // len(products)]]
    result.append(dataclasses.replace(back, target=result[0].address))
    return result


def shortest_path(instructions, start, goal, stores=0, loads=0):
    """Instructions of the shortest way from index `start` to a place where `goal(index)` holds that passes at least
    `stores` stores and `loads` loads; None if there is none."""
    index = {instruction.address: i for i, instruction in enumerate(instructions)}
    access = [re.match(r"(?:buffer|global)_(store|load)", instruction.mnemonic) for instruction in instructions]
    passed, queue = {(start, 0, 0)}, collections.deque([(0, start, 0, 0)])
    while queue:
        count, at, stored, loaded = queue.popleft()
        if stored >= stores and loaded >= loads and goal(at):
            return count
        instruction = instructions[at]
        if instruction.mnemonic == "s_endpgm":
            continue
        if access[at] is not None:
            stored = min(stores, stored + (access[at][1] == "store"))
            loaded = min(loads, loaded + (access[at][1] == "load"))
        following = [] if instruction.mnemonic == "s_branch" else [at + 1]
        if instruction.target in index:
            following.append(index[instruction.target])
        for to in following:
            if to < len(instructions) and (to, stored, loaded) not in passed:
                passed.add((to, stored, loaded))
                queue.append((count + 1, to, stored, loaded))
    return None


@dataclasses.dataclass
class ConvKernel:
    """A compiled FourWaveConv kernel with the data for its estimate."""
    name: str
    tile: tuple          # BM, BN, BK
    loader: str
    body: list           # of the loop
    path: int            # instructions outside the loop along the shortest path, with a bias
    trip_cycles: tuple   # of the loop with one workgroup on a compute unit, with two where they fit, ...
    matrix_share: float  # share of the last of these in which the matrix unit works
    # cycles outside the loop: issue along the shortest path with a bias, and one latency to fill the pipeline
    around: float

    NAME = re.compile(r"kg_conv_(bf16|f16|f8)_(\d+)x(\d+)x(\d+)_(\w+)$")

    @classmethod
    def of(cls, kernel, instructions):
        parts = cls.NAME.match(kernel.name)
        bm, bn, bk = (int(parts[i]) for i in (2, 3, 4))
        loop = objects.main_loop(instructions)
        registers, lds = kernel.metadata[".vgpr_count"], kernel.metadata[".group_segment_fixed_size"]
        resident = max(1, min(check.REGISTERS_A_LANE // (-(-registers // 8) * 8), check.LDS_BYTES // max(lds, 1), 2))
        before = shortest_path(instructions, 0, lambda at: at == loop.first)
        # The epilogue of a convolution with a bias: a lane loads four channels of it for four sums, and stores eight
        # values.
        after = shortest_path(instructions, loop.last + 1, lambda at: instructions[at].mnemonic == "s_endpgm",
                              bm * bn // 2048, bm * bn // 1024)
        return cls.with_body(kernel.name, (bm, bn, bk), parts[5], resident, loop.body(instructions),
                             (before or 0) + (after or 0))

    @classmethod
    def with_body(cls, name, tile, loader, resident, body, path):
        cycles = tuple(loop_cycles(body, count) for count in range(1, resident + 1))
        busy = resident * sum(matrix_cycles(i.mnemonic) for i in body if i.mnemonic.startswith("v_mfma"))
        return cls(name, tile, loader, body, path, cycles, busy / cycles[-1], path * ISSUE + MEMORY_LATENCY)

    def again(self):
        """The same kernel, estimated with the constants as they are now."""
        return self.with_body(self.name, self.tile, self.loader, len(self.trip_cycles), self.body, self.path)


@dataclasses.dataclass(frozen=True)
class Problem:
    name: str
    frames: int   # of the output; the input has taps[0] - 1 more
    h: int        # of the output
    w: int
    c_in: int
    c_out: int
    taps: tuple   # q, r, s
    published: float = 0  # TFLOP/s, bf16: MAX on MI355X
    upsampled: bool = False  # the taps see every stored pixel four times

    @property
    def flops(self):
        return 2 * self.frames * self.h * self.w * self.c_out * self.c_in * math.prod(self.taps)


def loop_seconds(images, pixels, c_in, c_out, taps, kernel, splits=1, norm=0):
    """Seconds of all rounds of workgroups over the compute units."""
    bm, bn, bk = kernel.tile
    q, r, s = taps
    blocks = r * s * -(-c_in // bk) if kernel.loader == "padded" else -(-r * s * c_in // bk)
    trips = -(-(-(-q * blocks // 2)) // splits)
    workgroups = splits * images * -(-pixels // bm) * -(-c_out // bn)
    resident = len(kernel.trip_cycles)
    around = kernel.around + norm * bm * bn / 256 * NORM_CYCLES
    rounds, left = divmod(workgroups, COMPUTE_UNITS * resident)
    cycles = rounds * (trips * kernel.trip_cycles[-1] + around)
    if left:  # a last round that may leave compute units with fewer workgroups
        cycles += trips * kernel.trip_cycles[-(-left // COMPUTE_UNITS) - 1] + around
    return cycles / CLOCK


def chosen(problems, planner):
    """[(problem, Layer), ...]: what the dispatch takes for a launch of each, as the program `planner` prints it."""
    asked = "".join(f"{p.frames} {p.h} {p.w} {p.c_in} {p.c_out} {' '.join(map(str, p.taps))} {int(p.upsampled)}\n"
                    for p in problems)
    lines = subprocess.run([planner], input=asked, capture_output=True, text=True, check=True).stdout.splitlines()
    return list(zip(problems, map(Layer.of, lines)))


def max_tile(problem):
    """The compiled loop nearest to MAX's: 128x128, k blocks of 64 channels where these divide C_in, else 32, and below
    32 channels lanes with taps of their own. Source: modular, nn/conv/gpu/amd/dispatch_3d.mojo."""
    if problem.c_in % 32:
        return "kg_conv_bf16_128x128x64_chunks"
    return f"kg_conv_bf16_128x128x{32 if problem.c_in % 64 else 64}_uniform"


def max_seconds(problem, kernel):
    """MAX's algorithm in this model: one wave a SIMD, so one workgroup a compute unit, tiles over the pixels of all
    frames, K whole, no folded filters."""
    alone = dataclasses.replace(kernel, trip_cycles=kernel.trip_cycles[:1])
    return LAUNCH + loop_seconds(1, problem.frames * problem.h * problem.w, problem.c_in, problem.c_out, problem.taps,
                                 alone)


# MAX's benchmark of the Wan VAE on MI355X: shapes and TFLOP/s as its source states them. The frames of the 96-channel
# row are not stated; 16 are assumed.
ROWS = (
    Problem("conv_in C16", 21, 30, 52, 16, 384, (3, 3, 3), 341),
    Problem("level 3 C96", 16, 240, 416, 96, 96, (3, 3, 3), 544),
    Problem("mid C384", 21, 30, 52, 384, 384, (3, 3, 3), 722),
    Problem("time_conv C192", 21, 60, 104, 192, 384, (3, 1, 1), 522),
    Problem("upsampled C192 (MIOpen 613)", 42, 120, 208, 192, 192, (3, 3, 3), 559),
)


JOINED_BYTES = 4  # of a float32 sum of a part of K, written once and read once
LAUNCH = 4e-6     # kernels/conv/chip.hpp: kLaunchSeconds


@dataclasses.dataclass(frozen=True)
class Layer:
    """A kind of convolution in a decoder's step, as gfx950_conv_plan prints it."""
    key: str
    launches: int
    c_in: int
    c_out: int
    frames: int
    images: int  # that the tiles walk: frames, or their parities; each h x w
    h: int
    w: int
    taps: tuple
    splits: int
    norm: int    # 1: in the epilogue
    moved: int   # bytes
    kernels: str

    @classmethod
    def of(cls, line):
        key, *numbers = line.split("\t")
        launches, c_in, c_out, frames, images, h, w, q, r, s, splits, norm, moved = map(int, numbers[:13])
        return cls(key, launches, c_in, c_out, frames, images, h, w, (q, r, s), splits, norm, moved, numbers[13])

    @property
    def flops(self):
        return 2 * self.images * self.h * self.w * self.c_out * self.c_in * math.prod(self.taps)

    @property
    def name(self):
        return self.key.removeprefix("decoder.")

    @property
    def output_bytes(self):
        return 2 * self.images * self.h * self.w * self.c_out

    def misses(self, kernel):
        """The share of loads that L2 does not hold at most: of the workgroups that share an XCD's, those of other
        pixels read other pixels, those of other channels other rows of the filter, and both are gone from its 4 MiB
        before the next tap reads them."""
        (bm, bn, _), together = kernel.tile, XCD_UNITS * len(kernel.trip_cycles)
        columns = min(-(-self.c_out // bn), together)
        return (together / columns * bm + columns * bn) / (together * (bm + bn))

    def seconds(self, kernels):
        """Seconds (of a convolution with its launch, of the passes after it that add parts of K or norm)."""
        kernel = kernels[kernel_of(self)]
        cycles = loop_seconds(self.images, self.h * self.w, self.c_in, self.c_out, self.taps, kernel, self.splits,
                              self.norm)
        after = 0.0
        if self.splits > 1:
            after += LAUNCH + (2 * self.splits * JOINED_BYTES / 2 + 1) * self.output_bytes / HBM_BYTES
        if "rms_norm" in self.kernels:
            after += LAUNCH + 2 * self.output_bytes / HBM_BYTES
        return LAUNCH + max(cycles, self.moved / HBM_BYTES), after


@dataclasses.dataclass(frozen=True)
class Other:
    """All passes of one kind in a step, other than convolutions, as gfx950_conv_plan prints them."""
    kind: str
    first: str
    launches: int
    bytes: int      # moved to and from HBM
    key_tiles: int  # attention: that follow each other on a compute unit
    kernel: str     # attention: that multiplies

    @classmethod
    def of(cls, line):
        _, kind, first, launches, moved, key_tiles, kernel, _ = line.split("\t")
        return cls(kind, first, int(launches), int(moved), int(key_tiles), kernel)

    def seconds(self, attentions):
        """`attentions`: cycles of a tile of keys by kernel."""
        computing = self.key_tiles * attentions[self.kernel] / CLOCK if self.key_tiles else 0
        return self.launches * LAUNCH + computing + self.bytes / HBM_BYTES


def kernel_of(layer):
    return "kg_conv_bf16_" + re.match(r"\w+", layer.kernels)[0]


def decoder_step(planner, family, height, width):
    """(convolutions, other passes) of one later step of a family's decoder (one latent frame), with the dispatch's
    choices for LDS_READ_BYTES."""
    rate = STATED_LDS_READ_BYTES if LDS_READ_BYTES >= STATED_LDS_READ_BYTES else 128
    lines = subprocess.run([planner, family, str(height), str(width), str(rate)], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return [Layer.of(line) for line in lines if line[0] != "-"], [Other.of(line) for line in lines if line[0] == "-"]


def found_tools():
    """The folder of llvm-objdump, beside the compiler that toolchain finds."""
    toolchain = os.path.join(os.path.dirname(os.path.abspath(__file__)), "toolchain")
    return os.path.dirname(subprocess.run([toolchain, "find"], capture_output=True, text=True,
                                          check=True).stdout.strip())


def planner_of(build):
    return os.path.join(build, "tools", "gfx950", "gfx950_conv_plan")


def compiled(build, name, tools, folder="kernels/hip"):
    """[(kernel, instructions), ...] of a code object."""
    code = objects.read_code_object(os.path.join(build, folder, "gfx950", f"{name}.hsaco"))
    disassembly = objects.disassemble(code, tools)
    return [(kernel, disassembly[kernel.name]) for kernel in code.kernels]


def conv_kernels(build, element, tools):
    return [ConvKernel.of(*kernel) for kernel in compiled(build, f"four_wave_conv_{element}", tools)]


def attention_loops(build, tools):
    """{kernel name: main loop, of one tile of keys}."""
    loops = {kernel.name: (objects.main_loop(instructions), instructions)
             for kernel, instructions in compiled(build, "attention", tools)}
    return {name: loop.body(instructions) for name, (loop, instructions) in loops.items() if loop is not None}


def attention_cycles(name, body):
    """Cycles of a kernel's main loop. Its workgroups have two waves on each SIMD, or one at the width that is processed
    in slices."""
    waves = 1 if name.endswith("_1024") else 2
    return loop_cycles(body, waves, together=waves)


def print_table(headings, rows):
    widths = [max(len(row[i]) for row in [headings, *rows]) for i in range(len(headings))]
    for row in [headings, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                                for i, (cell, width) in enumerate(zip(row, widths))) + " |")


def loops_table(kernels):
    rows = []
    for k in kernels:
        waits = sum(i.mnemonic == "s_waitcnt" for i in k.body)
        crowded = check.crowded(k.body)
        others = [f"{loop_cycles(body, len(k.trip_cycles)):.0f}" for body in (with_priority(k.body), spread(k.body))]
        rows.append((k.name.removeprefix("kg_conv_bf16_"), str(len(k.trip_cycles)), f"{k.trip_cycles[-1]:.0f}",
                     f"{100 * k.matrix_share:.0f} %", *others, str(len(check.heaps(k.body))),
                     str(len(objects.executed(k.body))), str(waits), str(crowded), str(max(check.heaps(k.body))),
                     f"{k.around:.0f}"))
    return ("kernel", "workgroups/CU", "cycles/trip", "matrix unit busy", "with s_setprio", "evenly spread",
            "products", "instructions", "waits", "crowded", "longest heap", "cycles around"), rows


COST = re.compile(r"^KG_COST_(16|8)\((\d+), (\d+), (\d+), (\w+), ((?:\d+, ){5}\d+)\)$", re.MULTILINE)
COST_TOLERANCE = 0.015  # fp16 shares the rows of bf16, and its loops differ from them by up to 1.2 %


def cost_of(kernel):
    """(workgroups on a compute unit, clocks of a trip of all of them, of one alone, both at the stated rate of LDS,
    clocks around the loop), in whole clocks."""
    with constants({"LDS_READ_BYTES": STATED_LDS_READ_BYTES / LDS_READ_BYTES}):
        stated = kernel.again().trip_cycles if kernel.body else kernel.trip_cycles
    trips = (kernel.trip_cycles[-1], kernel.trip_cycles[0], stated[-1], stated[0])
    return len(kernel.trip_cycles), *map(round, trips), round(kernel.around)


def print_costs(kernels_of):
    print("// What FourWaveConv's main loops cost, by `tools/gfx950/estimate.py BUILD --costs`: KG_COST_16(BM, BN, BK, "
          "loader, workgroups that\n// share a compute unit, clocks of a trip of all of them and of one alone where "
          "LDS gives kLdsReadBytes a clock, the same where it gives\n// kStatedLdsReadBytes, clocks around the loop) "
          "for bf16 and fp16, KG_COST_8 for fp8.")
    for width, element in ((16, "bf16"), (8, "f8")):
        for kernel in kernels_of(element):
            numbers = (*kernel.tile, kernel.loader.capitalize(), *cost_of(kernel))
            print(f"KG_COST_{width}({', '.join(map(str, numbers))})")


ATTENTION_COST = re.compile(r"^KG_ATTENTION_COST\((\d+), (\d+), (\d+), (\d+)\)$", re.MULTILINE)


def attention_costs(loops):
    """{(bytes of an element, width): (cycles of a tile of keys, the same at the stated rate of LDS)} of bf16 and
    float32, and the same of fp16, which shares the rows of bf16."""
    found = {}
    for name, body in loops.items():
        element, width = re.match(r"kinetograph_attention_(\w+)_(\d+)$", name).groups()
        with constants({"LDS_READ_BYTES": STATED_LDS_READ_BYTES / LDS_READ_BYTES}):
            stated = attention_cycles(name, body)
        found[element, int(width)] = (round(attention_cycles(name, body)), round(stated))
    rows = {(4 if element == "f32" else 2, width): cost for (element, width), cost in found.items() if element != "f16"}
    return rows, {(2, width): cost for (element, width), cost in found.items() if element == "f16"}


def attention_disagreements(table, loops):
    """Differences between the text of attention_costs.inc and the compiled kernels, as sentences."""
    stated = {tuple(map(int, row.group(1, 2))): tuple(map(int, row.group(3, 4)))
              for row in ATTENTION_COST.finditer(table)}
    found = []
    for costs in attention_costs(loops):
        found += [f"attention of {key[0]} bytes and width {key[1]}: the table says {stated.get(key)}, the machine code "
                  f"{cost}" for key, cost in costs.items()
                  if key not in stated
                  or any(abs(said - is_) > COST_TOLERANCE * is_ for said, is_ in zip(stated[key], cost))]
    return found


def disagreements(table, kernels_of):
    """Differences between the text of four_wave_conv_costs.inc and the compiled kernels, as sentences."""
    stated = {(row[1], tuple(map(int, row.group(2, 3, 4))), row[5].lower()): tuple(map(int, row[6].split(", ")))
              for row in COST.finditer(table)}
    found, met = [], set()
    for width, element in (("16", "bf16"), ("16", "f16"), ("8", "f8")):
        for kernel in kernels_of(element):
            key, cost = (width, kernel.tile, kernel.loader), cost_of(kernel)
            met.add(key)
            if key not in stated:
                found.append(f"{kernel.name} has no row")
            elif stated[key][0] != cost[0] or any(abs(said - is_) > COST_TOLERANCE * is_
                                                  for said, is_ in zip(stated[key][1:], cost[1:])):
                found.append(f"{kernel.name}: the table says {stated[key]}, the machine code {cost}")
    return found + [f"no kernel has the row {key}" for key in stated if key not in met]


def worst(layer, kernel):
    """The kernel as it is if L2 misses as much as it can and waves are not in step."""
    return _worst(kernel, round(layer.misses(kernel), 2))


_WORST = {}


def _worst(kernel, misses):
    key = (kernel.name, misses)
    if key not in _WORST:
        with constants({}, {"MISSES": misses, "STALL": LONGEST_STALL}):
            _WORST[key] = kernel.again()
    return _WORST[key]


def reached(problem, kernels):
    """(TFLOP/s of MAX's algorithm in this model, the share of it that MAX measured)."""
    modelled = problem.flops / max_seconds(problem, kernels[max_tile(problem)]) / 1e12
    return modelled, problem.published / modelled


def least_reached(kernels):
    """The least share of a modelled rate that MAX measured, over its rows: the lower end of every prediction."""
    return min(reached(problem, kernels)[1] for problem in ROWS)


def rows_table(choices, kernels):
    """MAX's rows: its algorithm in this model beside its rate, and ours as the dispatch runs it, from the least share
    of the estimate that any row reaches to all of it."""
    named, rows = {kernel.name: kernel for kernel in kernels}, []
    least = least_reached(named)
    for problem, layer in choices:
        tflops = problem.flops / sum(layer.seconds(named)) / 1e12
        modelled, share = reached(problem, named)
        rows.append((problem.name, f"{problem.frames}x{problem.h}x{problem.w}", layer.kernels.split(",")[0],
                     f"{problem.published:.0f}", f"{modelled:.0f}", f"{share:.2f}",
                     f"{least * tflops:.0f} to {tflops:.0f}"))
    return ("shape", "frames x h x w", "dispatch takes", "published", "modelled", "reached", "ours, TFLOP/s"), rows


def step_table(layers, others, kernels, attentions):
    named = {kernel.name: kernel for kernel in kernels}
    rows, flops, matrix, moved, total, passes = [], 0, 0.0, 0.0, 0.0, 0.0
    for layer in layers:
        time, after = layer.seconds(named)
        products, memory = layer.flops / (COMPUTE_UNITS * 4096 * CLOCK), layer.moved / HBM_BYTES
        flops, matrix = flops + layer.launches * layer.flops, matrix + layer.launches * products
        moved = moved + layer.launches * memory
        total, passes = total + layer.launches * time, passes + layer.launches * after
        rows.append((layer.name, str(layer.launches), f"{layer.images}x{layer.h}x{layer.w}",
                     f"{layer.c_in} > {layer.c_out}", "x".join(map(str, layer.taps)), layer.kernels,
                     f"{1e6 * products:.0f}", f"{1e6 * memory:.0f}", f"{1e6 * time:.0f}",
                     f"{1e6 * after:.0f}" if after else ""))
    rows.append(("all", str(sum(layer.launches for layer in layers)), "", "", f"{flops / 1e12:.1f} TFLOP", "",
                 f"{1e6 * matrix:.0f}", f"{1e6 * moved:.0f}", f"{1e6 * total:.0f}", f"{1e6 * passes:.0f}"))
    for other in others:
        rows.append((other.kind, str(other.launches), "", "", "", other.kernel, "",
                     f"{1e6 * other.bytes / HBM_BYTES:.0f}", f"{1e6 * other.seconds(attentions):.0f}", ""))
    return ("first such layer", "launches", "walked", "channels", "taps", "kernels", "matrix us", "HBM us",
            "estimate us", "passes after us"), rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", action="store_true", help="against MAX's published rows")
    parser.add_argument("--step", metavar="HxW", help="the convolutions of a decoder's step at this frame size")
    parser.add_argument("--family", default="wan2.1", help="of the decoder (default: wan2.1)")
    parser.add_argument("--with", dest="constants", action="append", default=[], metavar="NAME=VALUE",
                        help="another value for a constant of this file")
    parser.add_argument("--loops", metavar="TYPE", nargs="?", const="bf16",
                        help="every main loop of this element type: bf16 (default), f16, f8")
    parser.add_argument("--costs", action="store_true", help="print four_wave_conv_costs.inc")
    parser.add_argument("--attention-costs", action="store_true", help="print the rows of passes/attention_costs.inc")
    parser.add_argument("--check-costs", metavar="FOLDER",
                        help="compare with the tables of costs in kernels/hip/gfx950")
    parser.add_argument("--tools", help="folder with llvm-objdump; default: beside the compiler that toolchain finds")
    parser.add_argument("build")
    options = parser.parse_args()
    for name, _, value in (constant.partition("=") for constant in options.constants):
        if name not in globals() or not name.isupper():
            parser.error(f"no constant {name}")
        globals()[name] = float(value)
    tools, planner = options.tools or found_tools(), planner_of(options.build)

    def kernels_of(element):
        return conv_kernels(options.build, element, tools)

    if options.costs:
        print_costs(kernels_of)
    if options.attention_costs:
        for key, cost in attention_costs(attention_loops(options.build, tools))[0].items():
            print(f"KG_ATTENTION_COST({', '.join(map(str, (*key, *cost)))})")
    if options.check_costs:
        with open(os.path.join(options.check_costs, "four_wave_conv_costs.inc"), encoding="utf-8") as file:
            found = disagreements(file.read(), kernels_of)
        with open(os.path.join(options.check_costs, "passes", "attention_costs.inc"), encoding="utf-8") as file:
            found += attention_disagreements(file.read(), attention_loops(options.build, tools))
        for sentence in found:
            print(sentence)
        print(f"{len(found)} disagreements with {options.check_costs}"
              + ("; --costs and --attention-costs print what it should be" if found else ""))
        sys.exit(1 if found else 0)
    if options.loops:
        print_table(*loops_table(kernels_of(options.loops)))
    if options.rows:
        print_table(*rows_table(chosen(ROWS, planner), kernels_of("bf16")))
    if options.step:
        attentions = {name: attention_cycles(name, body)
                      for name, body in attention_loops(options.build, tools).items()}
        print_table(*step_table(*decoder_step(planner, options.family, *map(int, options.step.split("x"))),
                                kernels_of("bf16"), attentions))


if __name__ == "__main__":
    main()
