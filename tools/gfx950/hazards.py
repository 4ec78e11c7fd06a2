"""The data hazards of gfx950 that neither the hardware nor, around inline assembly, the compiler resolves.

RULES lists them with the wait states of LLVM's GCNHazardRecognizer.cpp for gfx950 (as of llvm-project 2449c0e3), whose
functions are named beside them, and, where that has none, of "CDNA3 Instruction Set Architecture" (manually inserted
wait states). What an instruction writes (or reads) must be that many wait states old before another one touches it. An
instruction is one wait state, s_nop N is N + 1. Left out, as no kernel has them: dot products, float64, images.
"""

import dataclasses
import functools
import re

_REGISTER = re.compile(r"\b([avs])(?:(\d+)|\[(\d+):(\d+)\])|\b(vcc|exec)(?:_lo|_hi)?\b|\b(m0|src_vccz|src_execz)\b")


def registers(text):
    """The registers in operands: {"a12", "v3", "s7", "vcc", "exec", "m0", ...}."""
    named = set()
    for kind, single, first, last, pair, other in _REGISTER.findall(text):
        if kind:
            numbers = [int(single)] if single else range(int(first), int(last) + 1)
            named.update(f"{kind}{number}" for number in numbers)
        else:
            named.add(pair or other)
    return named


def vectors(named):
    return {name for name in named if name[0] in "av" and name[1:].isdigit()}


def scalars(named):
    return named - vectors(named) - {"m0", "exec"}


_TWO_RESULTS = re.compile(r"v_(add|sub|subrev|addc|subb|subbrev)_co_|v_div_scale|v_mad_[ui]64")
_SWAPS = re.compile(r"v_swap_|v_permlane\w*_swap")
_MEMORY = re.compile(r"(buffer|global|flat|scratch)_")
_TRANSCENDENTAL = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos)_")
_READS_M0 = re.compile(r"s_movrel|s_sendmsg|ds_gws|ds_(read|write)_addtid")
_MATRIX = re.compile(r"v_s?mfma")
# Passes (of 4 clocks) of the products in the kernels: "Matrix cores of CDNA4".
_PASSES = (("f8f6f4", 8), ("16x16x4_f32", 8), ("32x32x16", 8), ("32x32x64", 16), ("16x16x32", 4))


@dataclasses.dataclass
class Effects:
    """What an instruction (mnemonic, operands) reads and writes, as far as the rules ask."""
    name: str
    operands: str
    reads: set
    writes: set

    @classmethod
    def of(cls, instruction):
        name, operands = instruction
        parts = [part.strip() for part in operands.split(",")]
        if name.startswith("v_"):
            results = 2 if _TWO_RESULTS.match(name) or _SWAPS.match(name) else 1
            writes, reads = registers(",".join(parts[:results])), registers(",".join(parts[results:]))
            if _SWAPS.match(name):
                reads |= writes
            if name.startswith("v_cmpx"):
                writes.add("exec")
            return cls(name, operands, reads, writes)
        if _MEMORY.match(name):
            stores = "_store" in name or "_atomic" in name or cls.to_lds(name, operands)
            reads = registers(operands if stores else ",".join(parts[1:]))
            return cls(name, operands, reads | ({"m0"} if cls.to_lds(name, operands) else set()),
                       set() if stores else registers(parts[0]))
        if name.startswith("ds_"):
            loads = "_read" in name or "_permute" in name or "_bpermute" in name or "_swizzle" in name
            return cls(name, operands, registers(",".join(parts[1:] if loads else parts)),
                       registers(parts[0]) if loads else set())
        if name.startswith("s_"):
            return cls(name, operands, registers(",".join(parts[1:])), registers(parts[0]))
        return cls(name, operands, set(), set())

    @staticmethod
    def to_lds(name, operands):
        return "load_lds" in name or ("_load_" in name and re.search(r"\blds\b", operands) is not None)

    @property
    def vector(self):
        return self.name.startswith("v_")

    @property
    def matrix(self):
        return _MATRIX.match(self.name) is not None

    @property
    def plain(self):
        """A vector instruction that is no product."""
        return self.vector and not self.matrix

    @property
    def memory(self):
        return _MEMORY.match(self.name) is not None

    @property
    def lane_access(self):
        return self.name.startswith(("v_readlane", "v_readfirstlane", "v_writelane"))

    @property
    def dpp(self):
        return self.name.endswith("_dpp") or re.search(r"quad_perm:|row_|wave_|bank_mask:", self.operands) is not None

    @property
    def shifts_result(self):
        """Writes a part of a register: SDWA, or a destination's bit of op_sel."""
        if re.search(r"dst_sel:(BYTE|WORD)", self.operands):
            return True
        chosen = re.search(r"op_sel:\[([01,]+)\]", self.operands)
        return bool(chosen) and not self.name.startswith("v_pk_") and not self.matrix and chosen[1].endswith("1") \
            and chosen[1].count(",") >= len(self.operands.split(" op_sel")[0].split(",")) - 1

    @property
    def wide_store_data(self):
        """The vector registers that a store of more than 8 bytes a lane still reads after it has issued."""
        if not self.memory or "_store_" not in self.name or not self.name.endswith(("x3", "x4")):
            return set()
        parts = self.operands.split(",")
        return vectors(registers(parts[0] if self.name.startswith("buffer_") else parts[1]))

    def of_product(self, first, last):
        """The registers in a product's operands first to last: 0 is the result, 1 and 2 are multiplied, 3 are sums."""
        return registers(",".join(self.operands.split(",")[first:last + 1])) if self.matrix else set()


def passes_of(effects):
    return next((passes for form, passes in _PASSES if form in effects.name), 16)


def of_float32(effects):
    """A product that is none of LLVM's XDL: of float32 operands."""
    return "16x16x4_f32" in effects.name


def settling(effects):
    """Wait states until a product's result may be touched: its passes and 2 of float32 operands, else 3, and 1 more
    since gfx950 (GFX940_SMFMA_N_Pass... and GFX940_XDL_N_Pass...WaitStates)."""
    return passes_of(effects) + (2 if of_float32(effects) else 4)


def summing(effects):
    """... until it may be a part of the sums of another (GFX940_..._PassWritesVGPROverlapped...SrcCWaitStates)."""
    return passes_of(effects) + (0 if of_float32(effects) else 2)


def overwriting(effects):
    """... until the data of a wide store may be overwritten: LLVM measured 1 on gfx950 where a buffer's offset is in a
    scalar register (checkSOFFSETWindowVALUHazardsHelper)."""
    parts = effects.operands.split(",")
    return 1 if effects.name.startswith("buffer_") and re.match(r"\s*(s\d|m0)", parts[3]) else 2


@dataclasses.dataclass(frozen=True)
class Rule:
    """`made(effects)` and `touched(effects)` are sets of registers; one touched is to be `states` old, unless
    `forwarded(whether it makes, effects)`, if given, is the same of both instructions."""
    name: str
    states: object  # a number, or one for each instruction
    made: object
    touched: object
    forwarded: object = None

    def states_of(self, effects):
        return self.states(effects) if callable(self.states) else self.states


def _if(condition, named):
    return named if condition else set()


_EXEC = {"exec"}
RULES = (
    # checkVMEMHazards
    Rule("a scalar register that a vector instruction wrote, in a memory instruction", 5,
         lambda e: _if(e.plain, scalars(e.writes)), lambda e: _if(e.memory, scalars(e.reads))),
    # checkVALUHazards
    Rule("a scalar register that a vector instruction wrote, in a vector instruction", 2,
         lambda e: _if(e.plain, scalars(e.writes)), lambda e: _if(e.vector, scalars(e.reads))),
    # checkRWLaneHazards
    Rule("a scalar register that a vector instruction wrote, as the lane of another", 4,
         lambda e: _if(e.plain, scalars(e.writes)),
         lambda e: _if(e.name.startswith(("v_readlane", "v_writelane")), scalars(e.reads))),
    # checkDivFMasHazards
    Rule("vcc that a vector instruction wrote, in v_div_fmas", 4, lambda e: _if(e.plain, e.writes & {"vcc"}),
         lambda e: _if(e.name.startswith("v_div_fmas"), {"vcc"})),
    # CDNA3 ISA
    Rule("vccz or execz after a vector instruction that wrote vcc or exec", 5,
         lambda e: _if(e.plain, {f"src_{name}z" for name in e.writes & {"vcc", "exec"}}),
         lambda e: _if(e.vector, e.reads & {"src_vccz", "src_execz"})),
    # checkVALUHazards
    Rule("a vector register that a vector instruction wrote, in v_readlane or v_readfirstlane", 1,
         lambda e: _if(e.plain, vectors(e.writes)),
         lambda e: _if(e.name.startswith(("v_readlane", "v_readfirstlane")), vectors(e.reads))),
    # checkVALUHazards, checkPermlaneHazards, checkMAIHazards90A
    Rule("exec that a vector instruction wrote, in an access to a lane, a swap or a product", 4,
         lambda e: _if(e.plain, e.writes & _EXEC),
         lambda e: _if(e.lane_access or e.name.startswith("v_permlane") or e.matrix, _EXEC)),
    # checkDPPHazards
    Rule("exec that a vector instruction wrote, in DPP", 5, lambda e: _if(e.plain, e.writes & _EXEC),
         lambda e: _if(e.vector and e.dpp, _EXEC)),
    Rule("a vector register that a vector instruction wrote, in DPP", 2, lambda e: _if(e.plain, vectors(e.writes)),
         lambda e: _if(e.vector and e.dpp, vectors(e.reads))),
    # checkPermlaneHazards
    Rule("a vector register that a vector instruction wrote, in a swap of lanes", 2,
         lambda e: _if(e.plain, vectors(e.writes)),
         lambda e: _if(e.name.startswith("v_permlane") and "_swap" in e.name, vectors(e.reads))),
    # checkVALUHazards: TransDefWaitstates, Shift16DefWaitstates
    Rule("the result of a transcendental instruction", 1,
         lambda e: _if(_TRANSCENDENTAL.match(e.name), vectors(e.writes)),
         lambda e: _if(e.vector and not _TRANSCENDENTAL.match(e.name), vectors(e.reads))),
    Rule("a part of a register that was just written", 1, lambda e: _if(e.vector and e.shifts_result,
                                                                        vectors(e.writes)),
         lambda e: _if(e.vector, vectors(e.reads | e.writes))),
    # checkReadM0Hazards
    Rule("m0 that a scalar instruction wrote", 1, lambda e: _if(e.name.startswith("s_"), e.writes & {"m0"}),
         lambda e: e.reads & {"m0"} if e.memory else _if(_READS_M0.match(e.name), {"m0"})),
    # checkVALUHazardsHelper
    Rule("the data of a store of more than 8 bytes", overwriting, lambda e: e.wide_store_data,
         lambda e: _if(e.vector, vectors(e.writes))),
    # checkMAIHazards90A
    Rule("an operand of a product that a vector instruction wrote", 2, lambda e: _if(e.plain, vectors(e.writes)),
         lambda e: _if(e.matrix, vectors(e.reads))),
    # checkMAIHazards90A, checkMAIVALUHazards. The next product's sums may be the result itself, which is forwarded.
    Rule("a product", settling, lambda e: _if(e.matrix, vectors(e.writes)),
         lambda e: vectors(e.of_product(1, 2) if e.matrix else e.reads | e.writes)),
    Rule("a part of a product in the sums of another", summing, lambda e: _if(e.matrix, vectors(e.writes)),
         lambda e: vectors(e.of_product(3, 3)),
         lambda writes, e: frozenset(e.writes if writes else e.of_product(3, 3))),
    # checkMAIVALUHazards: ...ReadVgprVALUWarWaitStates
    Rule("the sums that a product still reads", lambda e: passes_of(e) - 1,
         lambda e: _if(e.matrix and not of_float32(e), vectors(e.of_product(3, 3))),
         lambda e: _if(not e.matrix, vectors(e.writes))),
    # checkSetRegHazards, checkGetRegHazards
    Rule("a hardware register that was just set", 2, lambda e: _if(e.name.startswith("s_setreg"), {"hwreg"}),
         lambda e: _if(e.name.startswith(("s_setreg", "s_getreg")), {"hwreg"})),
)


def wait_states(instruction):
    return int(instruction.operands, 0) + 1 if instruction.mnemonic == "s_nop" else 1


@functools.lru_cache(maxsize=None)
def _effects(instruction):
    """([(index of a rule, registers it touches, what is forwarded), ...], [(index, registers it makes, wait states they
    need, what is forwarded), ...])"""
    effects = Effects.of(instruction)

    def forwarded(rule, makes):
        return rule.forwarded(makes, effects) if rule.forwarded else None
    touched = [(index, sorted(rule.touched(effects)), forwarded(rule, False)) for index, rule in enumerate(RULES)]
    made = [(index, rule.made(effects), rule) for index, rule in enumerate(RULES)]
    return ([row for row in touched if row[1]],
            [(index, named, rule.states_of(effects), forwarded(rule, True)) for index, named, rule in made if named])


def findings(instructions):
    """The first breach of each rule in code order, as sentences. A taken branch lasts longer than any of these, so the
    way on is the one without it."""
    settled = [{} for _ in RULES]  # of each rule: the wait state from which on a register may be touched, what forwards
    found, now = {}, 0
    for instruction in instructions:
        touched, made = _effects((instruction.mnemonic, instruction.operands))
        for index, named, same in touched:
            for name in named:
                until, as_what = settled[index].get(name, (0, None))
                if until > now and index not in found and (same is None or same != as_what):
                    found[index] = (f"{instruction}: {name}, {RULES[index].name}, is touched "
                                    f"{until - now} wait states too early")
        now += wait_states(instruction)
        for index, named, states, as_what in made:
            for name in named:
                settled[index][name] = now + states, as_what
        if instruction.mnemonic in ("s_branch", "s_endpgm", "s_setpc_b64"):
            settled = [{} for _ in RULES]
    return list(found.values())
