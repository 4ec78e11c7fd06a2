#!/usr/bin/env python3
"""Checks compiled gfx950 kernels against their design's limits, and prints the instruction mix of their main loops.

    tools/gfx950/check.py --tools LLVM_BIN [--expectations FILE.py] OBJECT.hsaco ...

FILE.py (tests/kernels/code_objects/expectations.py) has a function expectation(kernel name): what the kernel may use of
a compute unit and, for matrix kernels, what the main loop must contain; None means that the kernel is not expected. Its
COUNTS give the number of kernels by prefix of their names. Without expectations only hazards (hazards.py) are looked
for. Exit code 1 if anything was found.
"""

import argparse
import dataclasses
import os
import re
import runpy
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import code_object as objects  # noqa: E402
import hazards  # noqa: E402

# "CDNA4 Instruction Set Architecture" and LLVM, gfx950: 512 registers a lane (half of them accumulation registers) and
# 160 KiB of LDS.
REGISTERS_A_LANE = 512
LDS_BYTES = 160 * 1024
SIMDS = 4
LANES = 64


@dataclasses.dataclass
class LoopMix:
    """Instructions of one iteration of a kernel's main loop, in one wave."""
    mfma: int = 0
    lds_reads: int = 0
    lds_writes: int = 0
    loads_to_lds: int = 0
    loads_to_registers: int = 0
    stores: int = 0
    barriers: int = 0
    full_waits: int = 0  # s_waitcnt vmcnt(0): the pipeline of global loads runs dry
    accumulator_moves: int = 0  # between accumulation and other vector registers
    scalar: int = 0
    vector: int = 0
    waits: int = 0

    @classmethod
    def of(cls, instructions):
        mix = cls()
        for instruction in instructions:
            name = instruction.mnemonic
            if name.startswith("v_mfma"):
                mix.mfma += 1
            elif name.startswith("ds_read"):
                mix.lds_reads += 1
            elif name.startswith("ds_write"):
                mix.lds_writes += 1
            elif re.match(r"(buffer|global|flat)_load", name):
                if is_load_to_lds(instruction):
                    mix.loads_to_lds += 1
                else:
                    mix.loads_to_registers += 1
            elif re.match(r"(buffer|global|flat)_(store|atomic)", name):
                mix.stores += 1
            elif name == "s_barrier":
                mix.barriers += 1
            elif name == "s_waitcnt":
                mix.waits += 1
                mix.full_waits += objects.wait_counts(instruction).get("vmcnt") == 0
            elif name.startswith("v_"):
                mix.vector += 1
                mix.accumulator_moves += name.startswith("v_accvgpr")
            elif name.startswith("s_"):
                mix.scalar += 1
        return mix


# A product takes 16 cycles and a wave issues an instruction every 4: so many others fit between two without a delay.
FREE_SLOTS = 3


def heaps(body):
    """The number of other instructions before each product of a loop; those after the last one count for the first."""
    counts = [0]
    for instruction in objects.executed(body):
        if instruction.mnemonic.startswith("v_mfma"):
            counts.append(0)
        else:
            counts[-1] += 1
    return [counts[0] + counts[-1], *counts[1:-1]]


def crowded(body):
    """The number of instructions of a trip that delay a product."""
    return sum(max(0, heap - FREE_SLOTS) for heap in heaps(body))


def is_load_to_lds(instruction):
    return hazards.Effects.to_lds(instruction.mnemonic, instruction.operands)


STORE = re.compile(r"(?:buffer|global|flat)_store_")


def check_kernel(kernel, instructions, expected):
    """What is wrong with `kernel`, in sentences; empty if it is as `expected` says."""
    findings = []
    metadata = kernel.metadata

    def limit(what, value, most):
        if value > most:
            findings.append(f"{what}: {value}, at most {most} allowed")

    limit("bytes of scratch a lane", metadata[".private_segment_fixed_size"], 0)
    limit("scratch instructions", sum(i.mnemonic.startswith("scratch_") for i in instructions), 0)
    limit("spilled vector registers", metadata[".vgpr_spill_count"], 0)
    limit("spilled scalar registers", metadata[".sgpr_spill_count"], 0)
    if metadata.get(".uses_dynamic_stack"):
        findings.append("uses a dynamic stack")
    if metadata[".wavefront_size"] != LANES:
        findings.append(f"wavefront of {metadata['.wavefront_size']} lanes instead of {LANES}")

    waves = metadata[".max_flat_workgroup_size"] // LANES
    resident = expected["workgroups_a_compute_unit"]
    waves_a_simd = -(-waves * resident // SIMDS)
    limit(f"vector registers for {waves_a_simd} waves a SIMD", metadata[".vgpr_count"],
          REGISTERS_A_LANE // waves_a_simd // 8 * 8)
    limit(f"bytes of LDS for {resident} workgroups a compute unit",
          metadata[".group_segment_fixed_size"] + expected.get("dynamic_lds_bytes", 0), LDS_BYTES // resident)
    stores = {i.mnemonic for i in instructions if STORE.match(i.mnemonic)}
    if "stores" in expected and stores != set(expected["stores"]):
        findings.append(f"stores by {', '.join(sorted(stores)) or 'none'} instead of "
                        f"{', '.join(sorted(expected['stores']))}")
    if "accumulator_moves" in expected:
        limit("moves of accumulation registers", sum(i.mnemonic.startswith("v_accvgpr") for i in instructions),
              expected["accumulator_moves"])
    if "threads" in expected and metadata[".max_flat_workgroup_size"] != expected["threads"]:
        findings.append(f"workgroups of {metadata['.max_flat_workgroup_size']} threads instead of "
                        f"{expected['threads']}")
    if "main_loop" in expected:
        findings += check_main_loop(instructions, expected["main_loop"])
    return findings


def check_main_loop(instructions, expected):
    loop = objects.main_loop(instructions)
    if loop is None:
        return ["no loop with matrix instructions"]
    body = loop.body(instructions)
    mix = LoopMix.of(body)
    findings = []
    forms = {i.mnemonic for i in instructions if i.mnemonic.startswith(("v_mfma", "v_smfmac"))}
    if forms != {expected["mfma"]}:
        findings.append(f"matrix instructions {', '.join(sorted(forms))} instead of {expected['mfma']} alone")
    narrow = [i for i in body if is_load_to_lds(i) and "dwordx4" not in i.mnemonic]
    if mix.loads_to_lds == 0:
        findings.append("main loop without direct-to-LDS loads")
    if narrow:
        findings.append(f"direct-to-LDS loads narrower than 16 bytes a lane: {narrow[0]}")

    def bound(what, value, most):
        if value > most:
            findings.append(f"main loop: {value} {what}, at most {most} allowed")

    bound("LDS writes (tiles staged through registers)", mix.lds_writes, expected.get("lds_writes", 0))
    bound("loads to registers", mix.loads_to_registers, expected.get("loads_to_registers", 0))
    bound("stores", mix.stores, 0)
    if "accumulator_moves" in expected:
        bound("moves of accumulation registers", mix.accumulator_moves, expected["accumulator_moves"])
    bound("waits for all loads (vmcnt(0))", mix.full_waits, expected.get("full_waits", 0))
    if "crowded" in expected:
        bound("instructions that delay a product", crowded(body), expected["crowded"])
        bound("instructions before one product", max(heaps(body)), expected["longest_heap"])
    if mix.mfma % expected["mfma_a_k_step"]:
        return findings + [f"main loop: {mix.mfma} matrix instructions, not a multiple of {expected['mfma_a_k_step']} "
                           "a k-step"]
    steps = mix.mfma / expected["mfma_a_k_step"]
    for name, what in (("lds_reads", "LDS reads"), ("loads_to_lds", "direct-to-LDS loads"), ("barriers", "barriers"),
                       ("vector", "other vector instructions"), ("scalar", "scalar instructions")):
        most = expected.get(f"{name}_a_k_step")
        if most is not None and getattr(mix, name) > most * steps:
            findings.append(f"main loop: {getattr(mix, name) / steps:g} {what} a k-step, at most {most} allowed")
    return findings


def check_object(path, tools, expectation=None):
    """(findings, table rows) of the code object in the file `path`; `expectation` gives a kernel name's limits."""
    code = objects.read_code_object(path)
    findings, rows = [], []
    if not code.target.endswith("--gfx950"):
        findings.append(f"{path}: compiled for {code.target}")
    disassembly = objects.disassemble(code, tools)
    for kernel in code.kernels:
        instructions = disassembly[kernel.name]
        rows.append(table_row(kernel, instructions))
        findings += [f"{kernel.name}: {finding}" for finding in hazards.findings(instructions)]
        if expectation is None:
            continue
        expected = expectation(kernel.name)
        if expected is None:
            findings.append(f"{kernel.name}: nothing is expected of it; add it to the expectations")
        else:
            findings += [f"{kernel.name}: {finding}" for finding in check_kernel(kernel, instructions, expected)]
    return findings, rows


HEADINGS = ("kernel", "VGPR+AGPR", "SGPR", "LDS", "bytes", "MFMA", "LDS rd", "to LDS", "MFMA/rd", "MFMA/ld", "barrier",
            "wait", "vmcnt0", "acc moves", "VALU", "SALU", "crowded", "heap")


def table_row(kernel, instructions):
    metadata = kernel.metadata
    row = [kernel.name, f"{metadata['.vgpr_count']} ({metadata['.agpr_count']} acc)", str(metadata[".sgpr_count"]),
           str(metadata[".group_segment_fixed_size"]), str(kernel.size)]
    loop = objects.main_loop(instructions)
    if loop is None:
        return row + ["-"] * (len(HEADINGS) - len(row))
    mix = LoopMix.of(loop.body(instructions))

    def ratio(part):
        return f"{mix.mfma / part:.1f}" if part else "-"

    return row + [str(mix.mfma), str(mix.lds_reads), str(mix.loads_to_lds), ratio(mix.lds_reads),
                  ratio(mix.loads_to_lds), str(mix.barriers), str(mix.waits), str(mix.full_waits),
                  str(mix.accumulator_moves), str(mix.vector), str(mix.scalar),
                  str(crowded(loop.body(instructions))), str(max(heaps(loop.body(instructions))))]


def print_table(rows):
    rows = [HEADINGS, *rows]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    for row in rows:
        print("  ".join(cell.ljust(width) if column == 0 else cell.rjust(width)
                        for column, (cell, width) in enumerate(zip(row, widths))).rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tools", required=True, help="folder with llvm-objdump of the LLVM that compiled the objects")
    parser.add_argument("--expectations")
    parser.add_argument("objects", nargs="+")
    options = parser.parse_args()
    expectations = runpy.run_path(options.expectations) if options.expectations else {}
    findings, rows = [], []
    for path in options.objects:
        found, table = check_object(path, options.tools, expectations.get("expectation"))
        findings += found
        rows += table
    for prefix, count in expectations.get("COUNTS", {}).items():
        found = sum(row[0].startswith(prefix) for row in rows)
        if found != count:
            findings.append(f"{found} kernels {prefix}* instead of {count}")
    print_table(rows)
    for finding in findings:
        print(f"FOUND {finding}")
    print(f"{len(rows)} kernels in {len(options.objects)} code objects, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
