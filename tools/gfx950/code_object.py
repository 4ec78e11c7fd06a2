"""Reads a gfx950 code object: kernels with their metadata and descriptors, loadable segments, disassembly and loops.

Sources: ELF and metadata, LLVM's "User Guide for AMDGPU Backend" (code object V5, kernel descriptor); the note's
payload is MessagePack. Disassembly is llvm-objdump's, of the LLVM that compiled the object.
"""

import dataclasses
import os
import re
import struct
import subprocess

NOTE_METADATA = 32  # NT_AMDGPU_METADATA
ELF_MACHINE_AMDGPU = 224


def unpack_message(data, at=0):
    """One MessagePack value of `data` at `at`: (value, position after it). The subset that LLVM writes."""
    kind = data[at]
    at += 1
    if kind < 0x80:
        return kind, at
    if kind >= 0xE0:
        return kind - 0x100, at
    if kind < 0x90 or kind in (0xDE, 0xDF):
        count, at = (kind & 15, at) if kind < 0x90 else _number(data, at, kind, {0xDE: ">H", 0xDF: ">I"})
        table = {}
        for _ in range(count):
            key, at = unpack_message(data, at)
            table[key], at = unpack_message(data, at)
        return table, at
    if kind < 0xA0 or kind in (0xDC, 0xDD):
        count, at = (kind & 15, at) if kind < 0xA0 else _number(data, at, kind, {0xDC: ">H", 0xDD: ">I"})
        values = []
        for _ in range(count):
            value, at = unpack_message(data, at)
            values.append(value)
        return values, at
    if kind < 0xC0 or kind in (0xD9, 0xDA, 0xDB):
        size, at = (kind & 31, at) if kind < 0xC0 else _number(data, at, kind, {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"})
        return data[at:at + size].decode(), at + size
    if kind in (0xC2, 0xC3):
        return kind == 0xC3, at
    return _number(data, at, kind,
                   {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"})


def _number(data, at, kind, formats):
    if kind not in formats:
        raise ValueError(f"metadata: MessagePack type {kind:#x} at byte {at - 1} is not one that LLVM writes")
    return struct.unpack_from(formats[kind], data, at)[0], at + struct.calcsize(formats[kind])


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str
    metadata: dict     # of the note: ".vgpr_count", ".group_segment_fixed_size", ".args", ...
    descriptor: bytes  # 64 bytes: what the command processor reads at dispatch
    entry: int         # address of the first instruction, in the object's own address space
    size: int          # bytes of code

    @property
    def rsrc2(self):
        return struct.unpack_from("<I", self.descriptor, 52)[0]

    @property
    def properties(self):
        """kernel_code_properties: which user SGPRs the dispatch fills."""
        return struct.unpack_from("<H", self.descriptor, 56)[0]


@dataclasses.dataclass(frozen=True)
class CodeObject:
    path: str
    target: str      # "amdgcn-amd-amdhsa--gfx950"
    segments: list   # (address, bytes, size in memory) of every PT_LOAD
    kernels: list    # Kernel, in the order of the metadata

    def kernel(self, name):
        for kernel in self.kernels:
            if kernel.name == name:
                return kernel
        raise KeyError(f"{self.path}: no kernel {name}; there are: {', '.join(k.name for k in self.kernels)}")


def read_code_object(path):
    """The code object in the file `path`; ValueError names what is wrong with it."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", data, 18)[0] != ELF_MACHINE_AMDGPU:
        raise ValueError(f"{path}: not a 64-bit AMDGPU ELF file")
    program_offset, section_offset = struct.unpack_from("<QQ", data, 32)
    program_size, program_count, section_size, section_count = struct.unpack_from("<HHHH", data, 54)
    segments, metadata = [], None
    for index in range(program_count):
        kind, _, offset, address, _, file_bytes, memory_bytes, _ = struct.unpack_from("<IIQQQQQQ", data, program_offset
                                                                                      + index * program_size)
        if kind == 1:
            segments.append((address, data[offset:offset + file_bytes], memory_bytes))
        elif kind == 4:
            metadata = metadata or _metadata_note(data[offset:offset + file_bytes])
    if metadata is None:
        raise ValueError(f"{path}: no AMDGPU metadata note")
    symbols = _symbols(data, section_offset, section_size, section_count)

    def loaded(address, size):
        for start, content, _ in segments:
            if start <= address and address + size <= start + len(content):
                return content[address - start:address - start + size]
        raise ValueError(f"{path}: address {address:#x} is in no segment")

    kernels = []
    for entry in metadata["amdhsa.kernels"]:
        name = entry[".name"]
        descriptor_address = symbols[entry[".symbol"]][0]
        descriptor = loaded(descriptor_address, 64)
        code = descriptor_address + struct.unpack_from("<q", descriptor, 16)[0]
        kernels.append(Kernel(name, entry, descriptor, code, symbols[name][1]))
    return CodeObject(path, metadata["amdhsa.target"], segments, kernels)


def _metadata_note(notes):
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("<III", notes, at)
        content = at + 12 + (name_size + 3) // 4 * 4
        if kind == NOTE_METADATA and notes[at + 12:at + 12 + name_size].rstrip(b"\0") == b"AMDGPU":
            return unpack_message(notes[content:content + size])[0]
        at = content + (size + 3) // 4 * 4
    return None


def _symbols(data, section_offset, section_size, section_count):
    """{name: (address, size)} of the dynamic symbol table: what a loader sees."""
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, section_offset + i * section_size)
                for i in range(section_count)]
    symbols = {}
    for _, kind, _, _, offset, size, link, _, _, entry_size in sections:
        if kind != 11:  # SHT_DYNSYM
            continue
        names = sections[link][4]
        for at in range(offset, offset + size, entry_size):
            name, _, _, _, value, symbol_size = struct.unpack_from("<IBBHQQ", data, at)
            start = names + name
            symbols[data[start:data.index(b"\0", start)].decode()] = (value, symbol_size)
    return symbols


@dataclasses.dataclass(frozen=True)
class Instruction:
    address: int
    mnemonic: str         # without the encoding suffix: "v_add_f32", not "v_add_f32_e32"
    operands: str
    target: int | None    # of a branch

    def __str__(self):
        return f"{self.address:#x}: {self.mnemonic} {self.operands}".rstrip()


_LINE = re.compile(r"^\s+(\S+)\s*(.*?)\s*//\s*([0-9A-F]+):\s([0-9A-F]{8})")


def parse_disassembly(text):
    """[Instruction, ...] of llvm-objdump's text; the symbols that divide it are ignored."""
    instructions = []
    for line in text.splitlines():
        if parts := _LINE.match(line):
            address = int(parts[3], 16)
            instructions.append(Instruction(address, re.sub(r"_e(32|64)$", "", parts[1]), parts[2],
                                            _branch_target(parts[1], address, int(parts[4], 16))))
    return instructions


def _branch_target(mnemonic, address, word):
    """The address, or None. SOPP: the low half is the signed distance from the next instruction, in dwords."""
    if not mnemonic.startswith(("s_branch", "s_cbranch")):
        return None
    distance = word & 0xFFFF
    return address + 4 + 4 * (distance - (distance >> 15 << 16))


def disassemble(code_object, tools):
    """{kernel name: [Instruction, ...]}; `tools` is the folder with llvm-objdump."""
    text = subprocess.run([os.path.join(tools, "llvm-objdump"), "-d", code_object.path], check=True,
                          capture_output=True, text=True).stdout
    instructions = parse_disassembly(text)
    return {k.name: [i for i in instructions if k.entry <= i.address < k.entry + k.size] for k in code_object.kernels}


@dataclasses.dataclass(frozen=True)
class Loop:
    first: int  # index of the loop's first instruction
    last: int   # index of the branch back

    def body(self, instructions):
        return instructions[self.first:self.last + 1]


def loops(instructions):
    """Every stretch of code that a backward branch repeats, innermost first."""
    index = {instruction.address: i for i, instruction in enumerate(instructions)}
    found = {}
    for last, instruction in enumerate(instructions):
        if instruction.target is not None and instruction.target <= instruction.address and instruction.target in index:
            first = index[instruction.target]
            found[first] = max(found.get(first, last), last)  # several branches to one head are one loop
    return sorted((Loop(first, last) for first, last in found.items()), key=lambda loop: loop.last - loop.first)


def main_loop(instructions):
    """The innermost loop that holds matrix instructions, of several the one with most; None if the kernel has none."""
    best = None
    for loop in loops(instructions):
        count = sum(i.mnemonic.startswith(("v_mfma", "v_smfmac")) for i in loop.body(instructions))
        inner = best is not None and best[1].first >= loop.first and best[1].last <= loop.last
        if count and (best is None or (count > best[0] and not inner)):
            best = (count, loop)
    return best[1] if best else None


def branch_target(body, at):
    """Where the body's instruction `at` branches to in the steady state, as an index; None: to the next. The last one
    goes back to the first; branches forward inside the body skip what a loop does rarely (a new input frame), and are
    taken; those out of the loop are not."""
    if body[at].target is None:
        return None
    if at == len(body) - 1:
        return 0
    found = [i for i in range(at + 1, len(body)) if body[i].address == body[at].target]
    return found[0] if found else None


def executed(body):
    """What a wave executes of a loop's body in the steady state."""
    result, at = [], 0
    while at is not None and at < len(body):
        result.append(body[at])
        following = branch_target(body, at)
        at = at + 1 if following is None else following or None
    return result


def wait_counts(instruction):
    """{"vmcnt": n, "lgkmcnt": n, ...} of an s_waitcnt; counters it does not name are not waited for."""
    return {name: int(value) for name, value in re.findall(r"(\w+)\((\d+)\)", instruction.operands)}
