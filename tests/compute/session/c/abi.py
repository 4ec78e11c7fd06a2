#!/usr/bin/env python3
"""The binary interface of kinetograph.h as text: exported symbols, values of enums, sizes and offsets of structures.

    abi.py HEADER LIBRARY COMPILER TABLE            fails if the table says something else
    abi.py HEADER LIBRARY COMPILER TABLE --record   writes it
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def declarations(header):
    """[(enum, [enumerator])], [(struct, [member])]"""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
    enums = [(name, re.findall(r"\b(KG_\w+)", body))
             for body, name in re.findall(r"typedef enum \w+ \{(.*?)\} (\w+);", text, flags=re.S)]
    structs = []
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, flags=re.S):
        members = []
        for line in filter(None, (part.strip() for part in body.split(";"))):
            function = re.search(r"\(\*(\w+)\)", line)
            names = [function.group(1)] if function else [re.sub(r"\[.*?\]", "", one).split()[-1].lstrip("*")
                                                          for one in line.split(",")]
            members += names
        structs.append((name, members))
    return enums, structs


def layout(header, compiler):
    enums, structs = declarations(header)
    lines = ["#include <stddef.h>", "#include <stdio.h>", "#include <kinetograph.h>", "int main(void) {"]
    for name, values in enums:
        lines += [f'printf("{name} {value} = %d\\n", (int){value});' for value in values]
    for name, members in structs:
        lines.append(f'printf("{name}: %zu bytes\\n", sizeof({name}));')
        lines += [f'printf("{name}.{member} at %zu\\n", offsetof({name}, {member}));' for member in members]
    lines.append("return 0; }")
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "layout.c"), pathlib.Path(folder, "layout")
        source.write_text("\n".join(lines))
        subprocess.run([compiler, "-std=c99", "-I", header.parent, source, "-o", program], check=True)
        return subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()


def symbols(library):
    listed = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return sorted(f"exports {line.split()[-1].replace('@@', ' of ')}" for line in listed.splitlines()
                  if " A " not in line)


def main(header, library, compiler, table, *options):
    found = symbols(library) + layout(pathlib.Path(header), compiler)
    table = pathlib.Path(table)
    if options == ("--record",):
        table.write_text("\n".join(found) + "\n")
        return 0
    stated = table.read_text().splitlines()
    for line in (line for line in stated if line not in found):
        print(f"gone: {line}")
    for line in (line for line in found if line not in stated):
        print(f"new: {line}")
    print(f"{len(found)} facts, {len(stated)} in {table.name}")
    return 0 if found == stated else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
