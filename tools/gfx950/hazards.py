"""The data hazards of gfx950 that neither the hardware nor, around inline assembly, the compiler resolves.

RULES lists them as "CDNA3 Instruction Set Architecture" (manually inserted wait states; data hazards of MFMA) and
LLVM's GCNHazardRecognizer do for gfx940 and gfx950: what an instruction writes (or reads) must be that many wait states
old before another one touches it. An instruction is one wait state, s_nop N is N + 1.
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


def settling(effects):
    """Wait states until a product's result may be touched: its passes and 3, 2 for float32 operands, and since gfx950 1
    more."""
    for form, passes in _PASSES:
        if form in effects.name:
            return passes + (2 if form == "16x16x4_f32" else 4)
    return 20  # of the longest there is


@dataclasses.dataclass(frozen=True)
class Rule:
    """`made(effects)` and `touched(effects)` are sets of registers; one touched is to be `states` old."""
    name: str
    states: object  # a number, or one for each instruction
    made: object
    touched: object

    def states_of(self, effects):
        return self.states(effects) if callable(self.states) else self.states


def _if(condition, named):
    return named if condition else set()


_EXEC = {"exec"}
RULES = (
    Rule("a scalar register that a vector instruction wrote, in a memory instruction", 5,
         lambda e: _if(e.plain, scalars(e.writes)), lambda e: _if(e.memory, scalars(e.reads))),
    Rule("a scalar register that a vector instruction wrote, in a vector instruction", 2,
         lambda e: _if(e.plain, scalars(e.writes)), lambda e: _if(e.vector, scalars(e.reads))),
    Rule("a scalar register that a vector instruction wrote, as the lane of another", 4,
         lambda e: _if(e.plain, scalars(e.writes)),
         lambda e: _if(e.name.startswith(("v_readlane", "v_writelane")), scalars(e.reads))),
    Rule("vcc that a vector instruction wrote, in v_div_fmas", 4, lambda e: _if(e.plain, e.writes & {"vcc"}),
         lambda e: _if(e.name.startswith("v_div_fmas"), {"vcc"})),
    Rule("vccz or execz after a vector instruction that wrote vcc or exec", 5,
         lambda e: _if(e.plain, {f"src_{name}z" for name in e.writes & {"vcc", "exec"}}),
         lambda e: _if(e.vector, e.reads & {"src_vccz", "src_execz"})),
    Rule("a vector register that a vector instruction wrote, in v_readlane or v_readfirstlane", 1,
         lambda e: _if(e.plain, vectors(e.writes)),
         lambda e: _if(e.name.startswith(("v_readlane", "v_readfirstlane")), vectors(e.reads))),
    Rule("exec that a vector instruction wrote, in an access to a lane or a swap", 4,
         lambda e: _if(e.plain, e.writes & _EXEC),
         lambda e: _if(e.lane_access or e.name.startswith("v_permlane"), _EXEC)),
    Rule("exec that a vector instruction wrote, in DPP", 5, lambda e: _if(e.plain, e.writes & _EXEC),
         lambda e: _if(e.vector and e.dpp, _EXEC)),
    Rule("a vector register that a vector instruction wrote, in DPP", 2, lambda e: _if(e.plain, vectors(e.writes)),
         lambda e: _if(e.vector and e.dpp, vectors(e.reads))),
    Rule("a vector register that a vector instruction wrote, in a swap of lanes", 2,
         lambda e: _if(e.plain, vectors(e.writes)),
         lambda e: _if(e.name.startswith("v_permlane") and "_swap" in e.name, vectors(e.reads))),
    Rule("the result of a transcendental instruction", 1,
         lambda e: _if(_TRANSCENDENTAL.match(e.name), vectors(e.writes)),
         lambda e: _if(e.vector and not _TRANSCENDENTAL.match(e.name), vectors(e.reads))),
    Rule("a part of a register that was just written", 1, lambda e: _if(e.vector and e.shifts_result,
                                                                        vectors(e.writes)),
         lambda e: _if(e.vector, vectors(e.reads))),
    Rule("m0 that a scalar instruction wrote", 1, lambda e: _if(e.name.startswith("s_"), e.writes & {"m0"}),
         lambda e: e.reads & {"m0"} if e.memory else _if(_READS_M0.match(e.name), {"m0"})),
    # LLVM excepts buffer stores with a scalar offset, for which newer versions found the hazard on gfx950 too.
    Rule("the data of a store of more than 8 bytes", 2, lambda e: e.wide_store_data,
         lambda e: _if(e.vector, vectors(e.writes))),
    Rule("an operand of a product that a vector instruction wrote", 2, lambda e: _if(e.plain, vectors(e.writes)),
         lambda e: _if(e.matrix, vectors(e.reads))),
    # The next product's sums may be the result itself, which is forwarded.
    Rule("a product", settling, lambda e: _if(e.matrix, vectors(e.writes)),
         lambda e: vectors(e.reads | e.writes) if not e.matrix else vectors(registers(
             ",".join(e.operands.split(",")[1:3])))),
    Rule("a hardware register that was just set", 2, lambda e: _if(e.name.startswith("s_setreg"), {"hwreg"}),
         lambda e: _if(e.name.startswith(("s_setreg", "s_getreg")), {"hwreg"})),
)


def wait_states(instruction):
    return int(instruction.operands, 0) + 1 if instruction.mnemonic == "s_nop" else 1


@functools.lru_cache(maxsize=None)
def _effects(instruction):
    """([(index of a rule, registers it touches), ...], [(index, registers it makes, wait states they need), ...])"""
    effects = Effects.of(instruction)
    touched = [(index, sorted(rule.touched(effects))) for index, rule in enumerate(RULES)]
    made = [(index, rule.made(effects)) for index, rule in enumerate(RULES)]
    return ([row for row in touched if row[1]],
            [(index, named, RULES[index].states_of(effects)) for index, named in made if named])


def findings(instructions):
    """The first breach of each rule in code order, as sentences. A taken branch lasts longer than any of these, so the
    way on is the one without it."""
    settled = [{} for _ in RULES]  # of each rule: the wait state from which on a register may be touched
    found, now = {}, 0
    for instruction in instructions:
        touched, made = _effects((instruction.mnemonic, instruction.operands))
        for index, named in touched:
            for name in named:
                if settled[index].get(name, 0) > now and index not in found:
                    found[index] = (f"{instruction}: {name}, {RULES[index].name}, is touched "
                                    f"{settled[index][name] - now} wait states too early")
        now += wait_states(instruction)
        for index, named, states in made:
            for name in named:
                settled[index][name] = now + states
        if instruction.mnemonic in ("s_branch", "s_endpgm", "s_setpc_b64"):
            settled = [{} for _ in RULES]
    return list(found.values())
