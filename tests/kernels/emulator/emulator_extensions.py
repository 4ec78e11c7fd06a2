"""What the CDNA emulator (tinygrad, test/mockgpu/amd) lacks and code compiled for gfx950 contains, added at run time.

Added: ds_swizzle_b32 by bit masks, which it cannot read; buffer loads and stores of 1, 2 and 12 bytes, where it moves a
dword. Mended: it takes any instruction that stands 8 bytes before an f8f6f4 product for the first half of a scaled
product; and in 16-bit instructions it takes v128 and above for upper halves of v0 and above, as RDNA has it, which CDNA
has not. Refused, because it would silently read the wrong registers: matrix instructions whose A or B lies in
accumulation registers, and LDS writes from them. Everything else is executed by the emulator's own code.
Sources: "CDNA3 Instruction Set Architecture", Buffer addressing and MUBUF; the encodings, LLVM's gfx950 assembler.
"""

EXTENSIONS = [
    "ds_swizzle_b32",
    "buffer loads and stores of 1, 2 and 12 bytes",
    "telling scaled from plain f8f6f4 products when decoding",
    "v128 and above in 16-bit instructions",
]

SCALE_PREFIX = b"\xac\xd3"  # upper half of the first dword of v_mfma_scale_*: v_mfma_ld_scale_b32


def extend(emulator):
    """Hooks the additions into the emulator; returns what was added, in words."""
    cdna = emulator.irc
    handlers = emulator._INST_HANDLERS
    own_decode = emulator.decode_inst
    own_buffer = handlers[cdna.MUBUF]
    own_matrix = emulator._compile_vop3p
    own_memory = emulator._compile_mem_op
    own_vector, own_compare = emulator._compile_vop12, emulator._compile_vopc

    def decode(data, architecture="rdna3"):
        scaled = architecture != "cdna" or data[2:4] == SCALE_PREFIX
        return own_decode(data if scaled else data[:12], architecture)  # 12 bytes hold every other instruction

    def buffer(instruction, context):
        size = narrow_bytes(instruction.op.name)
        return own_buffer(instruction, context) if size is None else _narrow_buffer_access(emulator, instruction,
                                                                                           context, size)

    def matrix(instruction, context):
        if "MFMA" in instruction.op.name and getattr(instruction, "acc", 0):
            raise RuntimeError("A or B of a matrix instruction in accumulation registers, which the emulator does not "
                               "read")
        return own_matrix(instruction, context)

    def memory(instruction, context):
        if instruction.op.name == "DS_SWIZZLE_B32":
            return _swizzle(emulator, instruction, context)
        if isinstance(instruction, cdna.DS) and "WRITE" in instruction.op.name and getattr(instruction, "acc", 0):
            raise RuntimeError("LDS write from accumulation registers, which the emulator does not read")
        return own_memory(instruction, context)

    def whole_registers(own):
        def handler(instruction, context):
            if type(instruction).__module__ == cdna.__name__ and 16 in instruction.canonical_op_bits.values():
                if 240 <= getattr(getattr(instruction, "src0", None), "offset", 0) <= 248:
                    raise RuntimeError(f"{instruction.op.name} of a float constant is not emulated")
                # 16: the emulator's sign to look for halves
                for operand, bits in instruction.canonical_op_bits.items():
                    instruction.canonical_op_bits[operand] = max(bits, 32)
            return own(instruction, context)
        return handler

    emulator.decode_inst = decode
    handlers[cdna.MUBUF] = buffer
    for kind, handler in list(handlers.items()):
        if handler is own_matrix:
            handlers[kind] = matrix
        elif handler is own_memory:
            handlers[kind] = memory
        elif handler in (own_vector, own_compare):
            handlers[kind] = whole_registers(handler)
    return EXTENSIONS


def narrow_bytes(name):
    """Bytes a lane of the buffer instructions that the emulator has no code for; None for the others."""
    if name.startswith(("BUFFER_LOAD_FORMAT", "BUFFER_STORE_FORMAT", "BUFFER_ATOMIC")):
        raise RuntimeError(f"{name} is not emulated")
    if "DWORDX3" in name:
        return 12
    if "BYTE" in name:
        return 1
    return 2 if "SHORT" in name else None


def _swizzle(emulator, instruction, context):
    """Each lane takes the word of the lane that three masks make of its index, within 32 lanes; all lanes are
    active."""
    UOp, dtypes = emulator.UOp, emulator.dtypes
    pattern = instruction.offset0 | instruction.offset1 << 8
    if pattern & 0x8000:
        raise RuntimeError("ds_swizzle_b32 by quads is not emulated")
    keep, put, flip = pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31

    def number(value):
        return UOp.const(value, dtypes.int)

    # Through separate memory: source and destination may be the same register.
    copy = UOp.placeholder((64,), dtypes.uint32, slot=0, addrspace=emulator.AddrSpace.LOCAL)
    source, destination = context.inst_field(type(instruction).addr), context.inst_field(type(instruction).vdst)
    lane = context.range()
    read = copy.index(lane).store(context.rvgpr_dyn(source, lane)).end(lane)
    lane = context.range()
    taken = (lane & number(32)) | (((lane & number(keep)) | number(put)) ^ number(flip))
    write = context.wvgpr_dyn(destination, lane, copy.after(read).index(taken).load(), context.rexec()).end(lane)
    return UOp.sink(read, write, *context.inc_pc())


def _narrow_buffer_access(emulator, instruction, context, size):
    """One buffer access of `size` bytes a lane: in lanes whose offset is below num_records, else zero or nothing."""
    UOp, dtypes, constant = emulator.UOp, emulator.dtypes, emulator._c
    name, fields = instruction.op.name, type(instruction)
    if getattr(instruction, "lds", 0):
        raise RuntimeError(f"{name} ... lds is not emulated")
    if "D16" in name and "STORE" not in name:
        raise RuntimeError(f"{name} keeps a half of its register, which is not emulated")

    def wide(value):
        return UOp.const(value, dtypes.uint64)

    descriptor = context.inst_field(fields.srsrc) * constant(4)
    base = emulator._u64(context.rsgpr_dyn(descriptor),
                         context.rsgpr_dyn(descriptor + constant(1))) & wide((1 << 48) - 1)
    records = context.rsgpr_dyn(descriptor + constant(2))
    moved = context.inst_field(fields.soffset)  # a scalar register, or from 128 on a constant
    moved = (moved < constant(128)).where(context.rsgpr_dyn(moved), moved - constant(128)).cast(dtypes.uint64)
    if instruction.idxen:
        raise RuntimeError(f"{name} with an index is not emulated")
    lane, exec_mask = context.range(), context.rexec()
    offset = context.inst_field(fields.offset)
    if instruction.offen:
        offset = offset + context.rvgpr_dyn(context.inst_field(fields.vaddr), lane)
    active = emulator._lane_active(exec_mask, lane)
    inside = active & (offset < records)
    address = inside.where(base + moved + offset.cast(dtypes.uint64), wide(0))
    register = context.inst_field(fields.vdata)
    read, write = ((context.raccvgpr_dyn, context.waccvgpr_dyn) if getattr(instruction, "acc", 0)
                   else (context.rvgpr_dyn, context.wvgpr_dyn))
    stores = []
    if "STORE" in name:
        for word in range(max(size // 4, 1)):
            value = read(register + constant(word), lane)
            if "D16_HI" in name:
                value = value >> constant(16)
            stores += emulator._mem_store(context.vmem, address + wide(4 * word), value, inside, 64, min(size, 4) * 8)
    else:
        for word in range(max(size // 4, 1)):
            at = address + wide(4 * word)
            value = inside.where(context.vmem.index((at >> wide(2)).cast(dtypes.int64).valid(inside)).load(),
                                 constant(0))
            if size < 4:  # aligned to its size, so within one dword
                bits = size * 8
                value = (value >> ((at.cast(dtypes.uint32) & constant(3)) * constant(8))) & constant((1 << bits) - 1)
                if "SBYTE" in name or "SSHORT" in name:
                    value = (value ^ constant(1 << (bits - 1))) - constant(1 << (bits - 1))
            stores.append(write(register + constant(word), lane, value, exec_mask))
    return UOp.sink(UOp.group(*stores).end(lane), *context.inc_pc())
