#!/usr/bin/env python3
"""Compares what ptxas said of every kernel (nvcc -Xptxas -v) with resources.json: registers at most as planned on every
architecture, no spills or local memory unless planned ("local", in bytes), no wgmma that waits for the one before, no
setmaxnreg left out, no kernel unplanned or missing. Prints the table.

check_resources.py resources.json 80 90 ... [--plant spill|registers|serialised|unplanned|missing] -- a.fatbin.txt ...
"""
import json
import re
import sys

ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\w+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")
# ptxas: C7508 ignores setmaxnreg; C7510, C7512, C7514, C7520 serialise wgmma.
ADVICE = re.compile(r"\b(C75(?:08|10|12|14|20))\b[^\n]*")


def kernels_of(report):
    """(kernel, chip) -> {"registers", "local"} as the report says."""
    found, current = {}, None
    for line in report.splitlines():
        if entry := ENTRY.search(line):
            current = found.setdefault(entry.groups(), {"registers": 0, "local": 0})
        elif current is not None and (stack := STACK.search(line)):
            current["local"] = sum(int(number) for number in stack.groups())
        elif current is not None and (registers := REGISTERS.search(line)):
            current["registers"] = int(registers[1])
    return found


def plant(fault, found):
    """A mistake that must be found: this script is tested by ctest with each of them."""
    first = next(iter(found))
    if fault == "spill":
        found[first]["local"] = 8
    elif fault == "registers":
        found[first]["registers"] = 256
    elif fault == "unplanned":
        found[("an_unplanned_kernel", first[1])] = {"registers": 1, "local": 0}
    elif fault == "missing":
        del found[first]


def plan_of(planned):
    """A number of registers, or an object that plans local memory too."""
    return planned if isinstance(planned, dict) else {"registers": planned, "local": 0}


def complaints(planned, chips, found, advice):
    yield from advice
    for (kernel, chip), used in sorted(found.items()):
        if kernel not in planned:
            yield f"{kernel} for sm_{chip}: not in resources.json"
            continue
        plan = plan_of(planned[kernel])
        if used["registers"] > plan["registers"] or used["registers"] == 0:
            yield f"{kernel} for sm_{chip}: {used['registers']} registers, planned at most {plan['registers']}"
        if used["local"] > plan["local"]:
            yield f"{kernel} for sm_{chip}: {used['local']} bytes of stack and spills, planned {plan['local'] or 'none'}"
    for kernel in planned:
        for chip in chips:
            if (kernel, chip) not in found:
                yield f"{kernel} for sm_{chip}: not compiled"


def main(arguments):
    options, reports = arguments[1:arguments.index("--")], arguments[arguments.index("--") + 1:]
    with open(options.pop(0)) as file:
        planned = json.load(file)
    fault = None
    if "--plant" in options:
        fault = options.pop(options.index("--plant") + 1)
        options.remove("--plant")
    found = {}
    advice = []
    for path in reports:
        with open(path) as file:
            report = file.read()
        found.update(kernels_of(report))
        advice += [match[0] for match in ADVICE.finditer(report)]
    if fault == "serialised":
        advice.append("C7510: planted")
    elif fault is not None:
        plant(fault, found)
    for kernel in planned:
        row = " ".join(f"sm_{chip} {found.get((kernel, chip), {'registers': 0})['registers']:3}" for chip in options)
        print(f"{kernel:28} registers: {row}  (at most {plan_of(planned[kernel])['registers']})")
    wrong = list(complaints(planned, options, found, advice))
    print("\n".join(wrong) if wrong else f"{len(found)} kernels as planned")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
