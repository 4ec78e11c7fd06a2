"""One gfx950 GPU made of a CDNA instruction emulator: loads our code objects, keeps device memory, launches kernels.

The emulator is tinygrad's (test/mockgpu/amd of a checkout that the caller names); it decodes and executes each machine
instruction on the CPU. This file plays the loader, the driver and the command processor: it maps the code object's
segments, fills the kernel-argument segment and the scalar registers that a kernel's descriptor asks for, and hands
over. Where the emulator does not know an instruction or a form of it that our kernels contain, emulator_extensions.py
adds it, and says so.
"""

import ctypes
import os
import struct
import sys

import numpy as np

# compute_pgm_rsrc2 and kernel_code_properties: "User Guide for AMDGPU Backend", kernel descriptor.
LDS_SHIFT, LDS_MASK, LDS_GRANULE = 15, 0x1FF, 512  # the emulator counts in 512 bytes whatever the chip
KERNARG_SEGMENT_POINTER = 1 << 3
OTHER_USER_REGISTERS = {1 << 0: "private segment buffer", 1 << 1: "dispatch pointer", 1 << 2: "queue pointer",
                        1 << 4: "dispatch id", 1 << 5: "flat scratch", 1 << 6: "private segment size"}
LDS_BYTES = 160 * 1024  # of a compute unit of gfx950
GUARD_BYTES = 4096
POISON = 0xFF  # a NaN in every float format: what strays outside a buffer shows in the result


class EmulatorMissing(Exception):
    """The checkout cannot be used; the sentence says what was not found."""


class Buffer:
    """Device memory between two poisoned guards."""

    def __init__(self, contents):
        contents = np.ascontiguousarray(contents).view(np.uint8).ravel()
        self.bytes = contents.size
        self._memory = np.full(self.bytes + 2 * GUARD_BYTES + 256, POISON, np.uint8)
        self._start = GUARD_BYTES + (-(self._memory.ctypes.data + GUARD_BYTES)) % 256
        self._memory[self._start:self._start + self.bytes] = contents

    @property
    def address(self):
        return self._memory.ctypes.data + self._start

    def read(self, dtype):
        return self._memory[self._start:self._start + self.bytes].copy().view(dtype)

    def stray_writes(self):
        """How many guard bytes no longer hold what they were filled with."""
        end = self._start + self.bytes
        return int((self._memory[:self._start] != POISON).sum() + (self._memory[end:] != POISON).sum())


class EmulatedGpu:
    def __init__(self, checkout, cache_folder):
        self._emulator = _import_emulator(checkout, cache_folder)
        import emulator_extensions
        self.extensions = emulator_extensions.extend(self._emulator)
        self._loaded = {}

    def launch(self, code_object, kernel_name, grid, block, arguments, dynamic_lds_bytes=0):
        """Runs every workgroup of `grid` (workgroups an axis) to its end. `arguments` is the explicit part of the
        kernel-argument segment as bytes, device addresses filled in. RuntimeError names an instruction that the
        emulator does not know."""
        kernel = code_object.kernel(kernel_name)
        metadata = kernel.metadata
        threads = block[0] * block[1] * block[2]
        if threads > metadata[".max_flat_workgroup_size"]:
            raise ValueError(f"{kernel_name}: {threads} threads a workgroup, compiled for at most "
                             f"{metadata['.max_flat_workgroup_size']}")
        unknown = [name for bit, name in OTHER_USER_REGISTERS.items() if kernel.properties & bit]
        if unknown or not kernel.properties & KERNARG_SEGMENT_POINTER:
            raise ValueError(f"{kernel_name} asks for {', '.join(unknown) or 'no arguments'}, which this loader does "
                             "not set up")
        explicit = [a for a in metadata[".args"] if not a[".value_kind"].startswith("hidden_")]
        explicit_bytes = max((a[".offset"] + a[".size"] for a in explicit), default=0)
        if len(arguments) != explicit_bytes:
            raise ValueError(f"{kernel_name} takes {explicit_bytes} bytes of arguments, given {len(arguments)}")
        lds_bytes = metadata[".group_segment_fixed_size"] + dynamic_lds_bytes
        if lds_bytes > LDS_BYTES:
            raise ValueError(f"{kernel_name} wants {lds_bytes} bytes of LDS, a compute unit has {LDS_BYTES}")

        segment = Buffer(self._kernarg_segment(kernel, arguments, grid, block, dynamic_lds_bytes))
        # The whole LDS, so that a stray access stays in memory that is ours and does not hit another array.
        granules = min((LDS_BYTES + LDS_GRANULE - 1) // LDS_GRANULE, LDS_MASK)
        rsrc2 = kernel.rsrc2 & ~(LDS_MASK << LDS_SHIFT) | granules << LDS_SHIFT
        entry = self._load(code_object) + kernel.entry
        self._emulator.run_asm(entry, kernel.size, *grid, *block, segment.address, rsrc2, 0, "cdna",
                               [segment.address & 0xFFFFFFFF, segment.address >> 32])

    def _load(self, code_object):
        """Address of the object's segments in memory; relocations are refused, our objects have none."""
        if code_object.path not in self._loaded:
            end = max(address + size for address, _, size in code_object.segments)
            memory = np.zeros(end + 4096, np.uint8)
            base = memory.ctypes.data + (-memory.ctypes.data) % 4096
            for address, contents, _ in code_object.segments:
                ctypes.memmove(base + address, contents, len(contents))
            self._loaded[code_object.path] = (memory, base)
        return self._loaded[code_object.path][1]

    @staticmethod
    def _kernarg_segment(kernel, arguments, grid, block, dynamic_lds_bytes):
        segment = bytearray(arguments.ljust(kernel.metadata[".kernarg_segment_size"], b"\0"))
        values = {"hidden_block_count": ("<I", grid), "hidden_group_size": ("<H", block)}
        for argument in kernel.metadata[".args"]:
            kind, _, axis = argument[".value_kind"].rpartition("_")
            if kind in values and axis in "xyz":
                struct.pack_into(values[kind][0], segment, argument[".offset"], values[kind][1]["xyz".index(axis)])
            elif argument[".value_kind"] == "hidden_grid_dims":
                struct.pack_into("<H", segment, argument[".offset"], 3)
            elif argument[".value_kind"] == "hidden_dynamic_lds_size":
                struct.pack_into("<I", segment, argument[".offset"], dynamic_lds_bytes)
        return np.frombuffer(bytes(segment), np.uint8)


def _import_emulator(checkout, cache_folder):
    if not os.path.isfile(os.path.join(checkout, "test", "mockgpu", "amd", "emu.py")):
        raise EmulatorMissing(f"{checkout} holds no test/mockgpu/amd/emu.py: it must be a checkout of tinygrad")
    os.makedirs(cache_folder, exist_ok=True)
    os.environ["CACHEDB"] = os.path.join(cache_folder, "instructions.db")  # instructions compiled once, then remembered
    os.environ["PROFILE"] = "0"
    sys.path.insert(0, checkout)
    try:
        from test.mockgpu.amd import emu
    except ImportError as error:
        raise EmulatorMissing(f"the emulator in {checkout} cannot be imported: {error}") from error
    return emu
