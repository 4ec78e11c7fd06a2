#!/usr/bin/env python3
"""The checker of code objects must find what it is for: every fault below is planted in a sound kernel, and named.

    check_test.py PATH_OF_CHECK_PY CLANG TOOLS WORK_FOLDER
"""

import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.dirname(sys.argv[1]))
import check  # noqa: E402
import code_object  # noqa: E402
import hazards  # noqa: E402

CLANG, TOOLS, WORK = sys.argv[2:5]

# Two k-steps per trip: each has one load to LDS, two reads and four matrix instructions; waits leave a load in flight.
SOUND = """
    .amdgcn_target "amdgcn-amd-amdhsa--gfx950"
    .text
    .globl sound
    .p2align 8
    .type sound,@function
sound:
    s_mov_b32 m0, 0
    s_mov_b32 s8, 16
loop:
    buffer_load_dwordx4 v0, s[4:7], 0 offen lds
    ds_read_b128 v[4:7], v1
    ds_read_b128 v[8:11], v1 offset:1024
    s_waitcnt lgkmcnt(0)
    v_mfma_f32_16x16x32_bf16 a[0:3], v[4:7], v[8:11], a[0:3]
    v_mfma_f32_16x16x32_bf16 a[4:7], v[4:7], v[8:11], a[4:7]
    v_mfma_f32_16x16x32_bf16 a[8:11], v[4:7], v[8:11], a[8:11]
    v_mfma_f32_16x16x32_bf16 a[12:15], v[4:7], v[8:11], a[12:15]
    s_waitcnt vmcnt(1)
    s_barrier
    buffer_load_dwordx4 v0, s[4:7], 0 offen lds
    ds_read_b128 v[4:7], v1
    ds_read_b128 v[8:11], v1 offset:1024
    s_waitcnt lgkmcnt(0)
    v_mfma_f32_16x16x32_bf16 a[0:3], v[4:7], v[8:11], a[0:3]
    v_mfma_f32_16x16x32_bf16 a[4:7], v[4:7], v[8:11], a[4:7]
    v_mfma_f32_16x16x32_bf16 a[8:11], v[4:7], v[8:11], a[8:11]
    v_mfma_f32_16x16x32_bf16 a[12:15], v[4:7], v[8:11], a[12:15]
    s_waitcnt vmcnt(1)
    s_barrier
    s_sub_u32 s8, s8, 2
    s_cmp_lg_u32 s8, 0
    s_cbranch_scc1 loop
    s_waitcnt vmcnt(0)
    s_endpgm
end:
    .size sound, end-sound
    .rodata
    .p2align 6
    .amdhsa_kernel sound
        .amdhsa_next_free_vgpr 32
        .amdhsa_next_free_sgpr 16
        .amdhsa_accum_offset 16
        .amdhsa_group_segment_fixed_size 65536
    .end_amdhsa_kernel
    .amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.target: amdgcn-amd-amdhsa--gfx950
amdhsa.kernels:
  - .name: sound
    .symbol: sound.kd
    .kernarg_segment_size: 8
    .kernarg_segment_align: 8
    .group_segment_fixed_size: 65536
    .private_segment_fixed_size: 0
    .wavefront_size: 64
    .sgpr_count: 16
    .vgpr_count: 32
    .agpr_count: 16
    .sgpr_spill_count: 0
    .vgpr_spill_count: 0
    .uses_dynamic_stack: false
    .max_flat_workgroup_size: 256
    .args: []
    .end_amdgpu_metadata
"""

EXPECTED = {
    "threads": 256, "workgroups_a_compute_unit": 1,
    "main_loop": {"mfma": "v_mfma_f32_16x16x32_bf16", "mfma_a_k_step": 4, "lds_reads_a_k_step": 2,
                  "loads_to_lds_a_k_step": 1, "barriers_a_k_step": 1, "vector_a_k_step": 0, "scalar_a_k_step": 2},
}

# Of every rule: its wait states, the instruction that makes the hazard, and one that meets it.
DPP = "quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
PRODUCT = "v_mfma_f32_16x16x32_bf16 a[0:3], v[4:7], v[8:11], a[0:3]"
HAZARDS = (
    ("a scalar register that a vector instruction wrote, in a memory instruction", 5,
     "v_readfirstlane_b32 s9, v12", "buffer_load_dword v13, v0, s[4:7], s9 offen"),
    ("a scalar register that a vector instruction wrote, in a vector instruction", 2,
     "v_cmp_lt_u32 vcc, v12, v13", "v_cndmask_b32 v14, v12, v13, vcc"),
    ("a scalar register that a vector instruction wrote, as the lane of another", 4,
     "v_readfirstlane_b32 s9, v12", "v_readlane_b32 s10, v13, s9"),
    ("vcc that a vector instruction wrote, in v_div_fmas", 4,
     "v_cmp_lt_u32 vcc, v12, v13", "v_div_fmas_f32 v14, v12, v13, v12"),
    ("vccz or execz after a vector instruction that wrote vcc or exec", 5,
     "v_cmp_lt_u32 vcc, v12, v13", "v_mov_b32 v14, src_vccz"),
    ("a vector register that a vector instruction wrote, in v_readlane or v_readfirstlane", 1,
     "v_mov_b32 v12, 0", "v_readfirstlane_b32 s9, v12"),
    ("exec that a vector instruction wrote, in an access to a lane, a swap or a product", 4,
     "v_cmpx_lt_u32 vcc, v12, v13", ("v_readfirstlane_b32 s9, v14", PRODUCT)),
    ("exec that a vector instruction wrote, in DPP", 5,
     "v_cmpx_lt_u32 vcc, v12, v13", f"v_mov_b32_dpp v14, v15 {DPP}"),
    ("a vector register that a vector instruction wrote, in DPP", 2,
     "v_mov_b32 v12, 0", f"v_mov_b32_dpp v14, v12 {DPP}"),
    ("a vector register that a vector instruction wrote, in a swap of lanes", 2,
     "v_mov_b32 v12, 0", "v_permlane32_swap_b32 v12, v13"),
    ("the result of a transcendental instruction", 1, "v_rcp_f32 v12, v13", "v_mul_f32 v14, v12, v12"),
    ("a part of a register that was just written", 1,
     "v_mov_b32_sdwa v12, v13 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
     ("v_add_u32 v14, v12, v12", "v_mov_b32 v12, 0")),
    ("m0 that a scalar instruction wrote", 1, "s_mov_b32 m0, 0", "buffer_load_dwordx4 v0, s[4:7], 0 offen lds"),
    ("the data of a store of more than 8 bytes", 2,
     "buffer_store_dwordx4 v[12:15], v0, s[4:7], 0 offen", "v_mov_b32 v12, 0"),
    ("the data of a store of more than 8 bytes", 1,
     "buffer_store_dwordx4 v[12:15], v0, s[4:7], s9 offen", "v_mov_b32 v12, 0"),
    ("an operand of a product that a vector instruction wrote", 2, "v_mov_b32 v4, 0", PRODUCT),
    ("a product", 8, PRODUCT, "v_accvgpr_read_b32 v12, a0"),
    ("a part of a product in the sums of another", 6, PRODUCT, PRODUCT.replace("a[0:3]", "a[2:5]")),
    ("the sums that a product still reads", 3, PRODUCT.replace(" a[0:3]", " a[4:7]", 1), "v_accvgpr_write_b32 a0, 0"),
    ("a hardware register that was just set", 2,
     "s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0", "s_getreg_b32 s9, hwreg(HW_REG_MODE)"),
)


def compiled(name, text, *options):
    source, target = os.path.join(WORK, name), os.path.join(WORK, name + ".hsaco")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([CLANG, *options, source, "-o", target], check=True)
    return target


def assembled(text):
    return compiled("planted.s", text, "--target=amdgcn-amd-amdhsa", "-mcpu=gfx950")


def hip(text):
    return compiled("planted.hip", text, "-x", "hip", "--offload-device-only", "--no-gpu-bundle-output",
                    "--offload-arch=gfx950", "-nogpuinc", "-nogpulib", "-O3", "-w", "-c")


def findings(path, expected=None):
    return check.check_object(path, TOOLS, {"sound": expected or EXPECTED}.get)[0]


class Checker(unittest.TestCase):
    def finds(self, sentence, *replacements, **changes):
        text = SOUND
        for old, new in replacements:
            self.assertIn(old, text)
            text = text.replace(old, new, changes.get("times", -1))
        found = findings(assembled(text))
        self.assertEqual(found, [f"sound: {sentence}"])

    def test_a_sound_kernel_has_no_findings(self):
        self.assertEqual(findings(assembled(SOUND)), [])

    def test_its_main_loop_is_counted(self):
        code = code_object.read_code_object(assembled(SOUND))
        instructions = code_object.disassemble(code, TOOLS)["sound"]
        body = code_object.main_loop(instructions).body(instructions)
        self.assertEqual(check.LoopMix.of(body),
                         check.LoopMix(mfma=8, lds_reads=4, loads_to_lds=2, barriers=2, scalar=3, waits=4))

    def test_scratch_is_found(self):
        self.finds("bytes of scratch a lane: 64, at most 0 allowed",
                   ("private_segment_fixed_size: 0", "private_segment_fixed_size: 64"))
        self.finds("scratch instructions: 1, at most 0 allowed",
                   ("s_waitcnt vmcnt(0)\n", "scratch_load_dword v12, off, s0\n    s_waitcnt vmcnt(0)\n"))

    def test_scratch_of_a_compiled_kernel_is_found(self):
        found = findings(hip("""extern "C" __attribute__((global)) void sound(int* p, int n) {
            int kept[64];
            for (int i = 0; i < 64; ++i) kept[i] = p[i] * n;
            p[0] = kept[p[n] & 63];
        }"""), {"workgroups_a_compute_unit": 1})
        self.assertTrue(any("bytes of scratch a lane" in f for f in found), found)

    def test_spilled_registers_are_found(self):
        self.finds("spilled vector registers: 3, at most 0 allowed", ("vgpr_spill_count: 0", "vgpr_spill_count: 3"))
        self.finds("spilled scalar registers: 2, at most 0 allowed", ("sgpr_spill_count: 0", "sgpr_spill_count: 2"))

    def test_spilled_registers_of_a_compiled_kernel_are_found(self):
        found = findings(hip("""extern "C"
        __attribute__((global, amdgpu_flat_work_group_size(256, 256), amdgpu_num_vgpr(16)))
        void sound(float* p) {
            float kept[40];
            for (int i = 0; i < 40; ++i) kept[i] = p[i * 256 + __builtin_amdgcn_workitem_id_x()];
            __builtin_amdgcn_s_barrier();
            for (int i = 0; i < 40; ++i) p[i * 256 + __builtin_amdgcn_workitem_id_x()] = kept[39 - i] * kept[i];
        }"""), {"workgroups_a_compute_unit": 1})
        self.assertTrue(any("spilled vector registers" in f for f in found), found)

    def test_a_dynamic_stack_is_found(self):
        self.finds("uses a dynamic stack", ("dynamic_stack: false", "dynamic_stack: true"))

    def test_too_many_registers_for_the_occupancy_are_found(self):
        self.assertEqual(findings(assembled(SOUND.replace(".vgpr_count: 32", ".vgpr_count: 264")),
                                  {**EXPECTED, "workgroups_a_compute_unit": 2}),
                         ["sound: vector registers for 2 waves a SIMD: 264, at most 256 allowed"])

    def test_too_much_lds_for_the_occupancy_is_found(self):
        self.assertEqual(findings(assembled(SOUND), {**EXPECTED, "workgroups_a_compute_unit": 3}),
                         ["sound: bytes of LDS for 3 workgroups a compute unit: 65536, at most 54613 allowed"])

    def test_another_workgroup_size_is_found(self):
        self.finds("workgroups of 512 threads instead of 256",
                   ("max_flat_workgroup_size: 256", "max_flat_workgroup_size: 512"))

    def test_another_wavefront_is_found(self):
        self.finds("wavefront of 32 lanes instead of 64", ("wavefront_size: 64", "wavefront_size: 32"))

    def test_another_matrix_instruction_is_found(self):
        self.finds("matrix instructions v_mfma_f32_16x16x16_bf16, v_mfma_f32_16x16x32_bf16 instead of "
                   "v_mfma_f32_16x16x32_bf16 alone",
                   ("v_mfma_f32_16x16x32_bf16 a[0:3], v[4:7], v[8:11], a[0:3]",
                    "v_mfma_f32_16x16x16_bf16 a[0:3], v[4:5], v[8:9], a[0:3]"), times=1)

    def test_a_kernel_without_a_loop_of_matrix_instructions_is_found(self):
        self.finds("no loop with matrix instructions", ("    s_cbranch_scc1 loop\n", ""))

    def test_loads_through_registers_are_found(self):
        text = SOUND.replace("buffer_load_dwordx4 v0, s[4:7], 0 offen lds",
                             "buffer_load_dwordx4 v[12:15], v0, s[4:7], 0 offen\n    ds_write_b128 v1, v[12:15]")
        self.assertEqual(findings(assembled(text)), [
            "sound: main loop without direct-to-LDS loads",
            "sound: main loop: 2 LDS writes (tiles staged through registers), at most 0 allowed",
            "sound: main loop: 2 loads to registers, at most 0 allowed"])

    def test_narrow_loads_to_lds_are_found(self):
        found = findings(assembled(SOUND.replace("buffer_load_dwordx4 v0, s[4:7], 0 offen lds",
                                                 "buffer_load_dword v0, s[4:7], 0 offen lds", 1)))
        self.assertEqual(len(found), 1)
        self.assertIn("direct-to-LDS loads narrower than 16 bytes a lane", found[0])

    def test_a_drained_pipeline_is_found(self):
        self.finds("main loop: 1 waits for all loads (vmcnt(0)), at most 0 allowed",
                   ("s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(0)"), times=1)
        self.finds("main loop: 2 waits for all loads (vmcnt(0)), at most 0 allowed",
                   ("s_waitcnt vmcnt(1)", "s_waitcnt vmcnt(0) lgkmcnt(0)"))

    def test_a_store_in_the_loop_is_found(self):
        self.finds("main loop: 1 stores, at most 0 allowed",
                   ("    s_barrier\n", "    buffer_store_dword v2, v0, s[4:7], 0 offen\n    s_barrier\n"), times=1)

    def test_too_many_reads_loads_barriers_and_address_instructions_are_found(self):
        self.finds("main loop: 2.5 LDS reads a k-step, at most 2 allowed",
                   ("    s_barrier\n", "    ds_read_b128 v[12:15], v1\n    s_barrier\n"), times=1)
        self.finds("main loop: 1.5 direct-to-LDS loads a k-step, at most 1 allowed",
                   ("    s_barrier\n", "    buffer_load_dwordx4 v0, s[4:7], 0 offen lds\n    s_barrier\n"), times=1)
        self.finds("main loop: 1.5 barriers a k-step, at most 1 allowed",
                   ("    s_barrier\n", "    s_barrier\n    s_barrier\n"), times=1)
        self.finds("main loop: 0.5 other vector instructions a k-step, at most 0 allowed",
                   ("    s_barrier\n", "    v_add_u32 v0, 16, v0\n    s_barrier\n"), times=1)
        self.finds("main loop: 2.5 scalar instructions a k-step, at most 2 allowed",
                   ("    s_barrier\n", "    s_barrier\n    s_nop 0\n    s_nop 0\n"), times=1)

    def test_instructions_in_a_heap_are_found(self):
        heaped = {**EXPECTED,
                  "main_loop": {**EXPECTED["main_loop"], "scalar_a_k_step": 9, "crowded": 9, "longest_heap": 9}}
        self.assertEqual(findings(assembled(SOUND), heaped), [])
        text = SOUND.replace("    s_barrier\n", "    s_barrier\n" + "    s_nop 0\n" * 6, 1)
        self.assertEqual(findings(assembled(text), heaped),
                         ["sound: main loop: 15 instructions that delay a product, at most 9 allowed",
                          "sound: main loop: 12 instructions before one product, at most 9 allowed"])

    def test_a_lost_matrix_instruction_is_found(self):
        self.finds("main loop: 7 matrix instructions, not a multiple of 4 a k-step",
                   ("    v_mfma_f32_16x16x32_bf16 a[12:15], v[4:7], v[8:11], a[12:15]\n", ""), times=1)

    def test_moves_of_accumulation_registers_are_found(self):
        moved = {**EXPECTED, "main_loop": {**EXPECTED["main_loop"], "vector_a_k_step": 1, "accumulator_moves": 0}}
        text = SOUND.replace("    s_waitcnt vmcnt(1)\n", "    v_accvgpr_read_b32 v12, a16\n    s_waitcnt vmcnt(1)\n", 1)
        self.assertEqual(findings(assembled(text.replace("next_free_vgpr 32", "next_free_vgpr 36")), moved),
                         ["sound: main loop: 1 moves of accumulation registers, at most 0 allowed"])

    def test_moves_of_accumulation_registers_anywhere_are_found(self):
        unmoved = {**EXPECTED, "accumulator_moves": 0}
        self.assertEqual(findings(assembled(SOUND), unmoved), [])
        text = SOUND.replace("    s_endpgm", "    s_nop 15\n    v_accvgpr_read_b32 v12, a12\n    s_endpgm")
        self.assertEqual(findings(assembled(text), unmoved),
                         ["sound: moves of accumulation registers: 1, at most 0 allowed"])

    def test_narrow_stores_are_found(self):
        def stored(*mnemonics):
            lines = "".join(f"    {name} {'v[12:15]' if name.endswith('x4') else 'v12'}, v0, s[4:7], 0 offen\n"
                            for name in mnemonics)
            return findings(assembled(SOUND.replace("    s_endpgm", lines + "    s_endpgm")),
                            {**EXPECTED, "stores": ("buffer_store_dwordx4",)})

        self.assertEqual(stored("buffer_store_dwordx4", "buffer_store_dwordx4"), [])
        self.assertEqual(stored("buffer_store_dwordx4", "buffer_store_short"),
                         ["sound: stores by buffer_store_dwordx4, buffer_store_short instead of buffer_store_dwordx4"])
        self.assertEqual(stored(), ["sound: stores by none instead of buffer_store_dwordx4"])

    def test_every_hazard_is_found_until_its_last_wait_state(self):
        self.assertEqual(list(dict.fromkeys(name for name, *_ in HAZARDS)), [rule.name for rule in hazards.RULES])
        for name, states, first, second in [(*row, each) for *row, seconds in HAZARDS
                                            for each in ([seconds] if isinstance(seconds, str) else seconds)]:
            with self.subTest(hazard=name, met_by=second):
                for between in range(states):
                    nop = f"    s_nop {between - 1}\n" if between else ""
                    found = findings(assembled(SOUND.replace(
                        "    s_endpgm", f"    s_nop 15\n    {first}\n{nop}    {second}\n    s_endpgm")))
                    self.assertIn(f"{name}, is touched {states - between} wait states too early", "\n".join(found))
                self.assertEqual(findings(assembled(SOUND.replace(
                    "    s_endpgm", f"    s_nop 15\n    {first}\n    s_nop {states - 1}\n    {second}\n"
                    "    s_endpgm"))), [])

    def test_a_hazard_does_not_reach_over_an_unconditional_branch(self):
        text = SOUND.replace("    s_endpgm", "    v_readfirstlane_b32 s9, v12\n    s_branch end_of_it\n"
                             "    buffer_load_dword v13, v0, s[4:7], s9 offen\nend_of_it:\n    s_endpgm")
        self.assertEqual(findings(assembled(text)), [])

    def test_a_kernel_nobody_expects_is_found(self):
        self.assertEqual(check.check_object(assembled(SOUND), TOOLS, {"other": EXPECTED}.get)[0],
                         ["sound: nothing is expected of it; add it to the expectations"])

    def test_another_chip_is_found(self):
        text = SOUND.replace("--gfx950", "--gfx942").replace("x32_bf16", "x16_bf16").replace("v[4:7], v[8:11], a",
                                                                                             "v[4:5], v[8:9], a")
        path = compiled("planted.s", text.replace("buffer_load_dwordx4", "buffer_load_dword"),
                        "--target=amdgcn-amd-amdhsa", "-mcpu=gfx942")
        self.assertIn(f"{path}: compiled for amdgcn-amd-amdhsa--gfx942", findings(path))

    def test_a_file_that_is_no_code_object_is_refused(self):
        with self.assertRaisesRegex(ValueError, "not a 64-bit AMDGPU ELF file"):
            code_object.read_code_object(__file__)


if __name__ == "__main__":
    os.makedirs(WORK, exist_ok=True)
    unittest.main(argv=sys.argv[:1], verbosity=2)
