#!/usr/bin/env python3
"""The estimate's model on loops whose cycles a person can count.   estimate_test.py PATH_OF_ESTIMATE_PY"""

import dataclasses
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(sys.argv[1]))
import check  # noqa: E402
import code_object  # noqa: E402
import estimate  # noqa: E402
from code_object import Instruction  # noqa: E402

MFMA = ("v_mfma_f32_16x16x32_bf16", "a[0:3], v[0:3], v[4:7], a[0:3]")
VALU = ("v_add_u32", "v0, 1, v0")
READ = ("ds_read_b128", "v[0:3], v8")
LOAD = ("buffer_load_dwordx4", "v0, s[4:7], 0 offen lds")


def body(*instructions):
    """These, and a branch back to the first."""
    listed = [Instruction(4 * i, name, operands, None) for i, (name, operands) in enumerate(instructions)]
    return [*listed, Instruction(4 * len(listed), "s_cbranch_scc1", "", 0)]


def wait(**counters):
    return ("s_waitcnt", " ".join(f"{name}({value})" for name, value in counters.items()))


def conv_kernel(name, tile, loader, trip_cycles, around=0.0):
    return estimate.ConvKernel(name, tile, loader, [], 0, trip_cycles, 1.0, around)


class Estimate(unittest.TestCase):
    def cycles(self, *instructions, waves=1):
        return estimate.loop_cycles(body(*instructions), waves)

    def test_matrix_instructions_take_their_cycles(self):
        self.assertAlmostEqual(self.cycles(*[MFMA] * 32), 32 * 16, delta=16)

    def test_what_fits_between_matrix_instructions_is_free(self):
        self.assertAlmostEqual(self.cycles(*[MFMA, VALU, VALU] * 32), 32 * 16, delta=16)

    def test_more_than_fits_is_issued_at_four_cycles(self):
        self.assertAlmostEqual(self.cycles(*[MFMA, *[VALU] * 7] * 32), 32 * 8 * 4 + estimate.ISSUE + estimate.BRANCH,
                               delta=16)

    def test_address_instructions_in_one_heap_leave_the_matrix_unit_idle(self):
        apart = self.cycles(*[MFMA, VALU, VALU] * 32)
        together = self.cycles(*[MFMA] * 32, *[VALU] * 64)
        self.assertAlmostEqual(together - apart, 64 * 4, delta=24)

    def test_two_waves_share_the_matrix_unit_and_hide_some_of_each_others_heaps(self):
        alone = self.cycles(*[MFMA] * 32, *[VALU] * 64)
        together = self.cycles(*[MFMA] * 32, *[VALU] * 64, waves=2)
        self.assertGreaterEqual(together, 2 * 32 * 16)
        self.assertLess(together, 2 * alone)

    def test_two_waves_hide_each_others_waits_for_memory(self):
        alone = self.cycles(LOAD, wait(vmcnt=0), *[MFMA] * 32)
        together = self.cycles(LOAD, wait(vmcnt=0), *[MFMA] * 32, waves=2)
        self.assertLess(together, 1.1 * alone)

    def test_reads_of_four_simds_queue_at_the_lds(self):
        self.assertAlmostEqual(self.cycles(*[READ] * 32, wait(lgkmcnt=0)), 32 * 4 * 1024 / estimate.LDS_READ_BYTES,
                               delta=estimate.LDS_LATENCY + 40)

    def test_loads_are_as_fast_as_the_cache(self):
        self.assertAlmostEqual(self.cycles(*[LOAD] * 32, wait(vmcnt=32)), 32 * 4 * 1024 / 64, delta=32)

    def test_a_drained_pipeline_costs_the_memory_latency(self):
        flowing = self.cycles(LOAD, *[MFMA] * 32, wait(vmcnt=2))
        drained = self.cycles(LOAD, wait(vmcnt=0), *[MFMA] * 32)
        self.assertAlmostEqual(flowing, 32 * 16, delta=48)
        self.assertGreater(drained - flowing, estimate.MEMORY_LATENCY - 100)

    def test_branches_inside_a_loop_skip_what_it_does_rarely(self):
        listed = body(*[MFMA] * 32, ("s_cbranch_scc1", ""), *[VALU] * 100, MFMA)
        listed[32] = dataclasses.replace(listed[32], target=listed[133].address)
        self.assertAlmostEqual(estimate.loop_cycles(listed, 1), 33 * 16, delta=48)
        listed[32] = dataclasses.replace(listed[32], target=4 * len(listed))  # out of the loop: not taken
        self.assertGreater(estimate.loop_cycles(listed, 1), 33 * 16 + 100 * 4 - 48)

    def test_heaps_are_the_instructions_before_each_product_around_the_loop(self):
        self.assertEqual(check.heaps(body(VALU, MFMA, MFMA, VALU, VALU, MFMA, VALU)), [3, 0, 2])

    def test_a_heap_that_is_spread_evenly_delays_no_product(self):
        heaped = body(*[MFMA] * 32, *[VALU] * 64)
        self.assertAlmostEqual(estimate.loop_cycles(estimate.spread(heaped), 1), 32 * 16 + estimate.BRANCH, delta=16)
        self.assertGreater(estimate.loop_cycles(heaped, 1), 32 * 16 + 64 * 4 - 16)

    def test_priority_is_raised_for_the_products_between_barriers(self):
        loop = body(("s_barrier", ""), READ, MFMA, MFMA, ("s_barrier", ""), MFMA)
        self.assertEqual([i.operands if i.mnemonic == "s_setprio" else i.mnemonic[:6]
                          for i in estimate.with_priority(loop)],
                         ["0", "s_barr", "ds_rea", "1", "v_mfma", "v_mfma", "0", "s_barr", "1", "v_mfma", "s_cbra"])

    def test_of_two_waves_at_one_time_that_of_the_higher_priority_issues(self):
        loop = body(*[VALU] * 8, ("s_setprio", "1"), *[MFMA] * 8, ("s_setprio", "0"))
        self.assertLess(estimate.loop_cycles(loop, 2), estimate.loop_cycles(body(*[VALU] * 8, *[MFMA] * 8), 1) * 2)

    def test_waves_of_one_workgroup_meet_at_its_barriers(self):
        loop = body(LOAD, wait(vmcnt=0), ("s_barrier", ""), *[MFMA] * 32)
        apart, together = estimate.loop_cycles(loop, 2), estimate.loop_cycles(loop, 2, together=2)
        self.assertLess(apart, 1.1 * estimate.loop_cycles(loop, 1))  # one multiplies while the other waits
        self.assertGreater(together, 1.3 * apart)

    def test_the_stated_rate_of_lds_costs_what_its_replay_says(self):
        kernel = dataclasses.replace(conv_kernel("k", (64, 64, 32), "uniform", (4096.0,)),
                                     body=body(*[READ] * 128, wait(lgkmcnt=0)))
        self.assertEqual(estimate.LDS_READ_BYTES, 128)
        workgroups, trip, _, stated, _, _ = estimate.cost_of(kernel)
        self.assertEqual((workgroups, trip), (1, 4096))
        self.assertAlmostEqual(stated, 128 * 4 * 1024 / 256, delta=estimate.LDS_LATENCY + 40)
        self.assertEqual(estimate.LDS_READ_BYTES, 128)

    def test_other_passes_take_their_launches_tiles_and_bytes(self):
        attention = estimate.Other.of("-\tattention\tdecoder.middle.1.attention\t3\t6400\t10\tk\t1.0")
        self.assertAlmostEqual(attention.seconds({"k": 2000.0}),
                               3 * estimate.LAUNCH + 10 * 2000 / estimate.CLOCK + 6400 / estimate.HBM_BYTES)
        copies = estimate.Other.of("-\tkept frames\ta.keep\t2\t6400\t0\t\t1.0")
        self.assertAlmostEqual(copies.seconds({}), 2 * estimate.LAUNCH + 6400 / estimate.HBM_BYTES)

    def test_a_table_of_attention_costs_that_says_otherwise_is_told(self):
        loops = {f"kinetograph_attention_{element}_64": body(*[READ] * 128, wait(lgkmcnt=0))
                 for element in ("bf16", "f16", "f32")}
        rows, halves = estimate.attention_costs(loops)
        self.assertEqual((sorted(rows), list(halves)), ([(2, 64), (4, 64)], [(2, 64)]))
        table = "".join(f"KG_ATTENTION_COST({', '.join(map(str, (*key, *cost)))})\n" for key, cost in rows.items())
        self.assertEqual(estimate.attention_disagreements(table, loops), [])
        self.assertEqual(len(estimate.attention_disagreements(table.replace(str(rows[2, 64][0]), "1"), loops)), 3)
        self.assertEqual(len(estimate.attention_disagreements("", loops)), 3)

    def test_an_unknown_matrix_instruction_is_refused(self):
        with self.assertRaisesRegex(ValueError, "v_mfma_f64_16x16x4_f64 is not in the table of costs"):
            self.cycles(("v_mfma_f64_16x16x4_f64", ""))

    def test_the_shortest_path_passes_the_stores(self):
        listed = [Instruction(0, "s_cbranch_scc1", "", 12), Instruction(4, "buffer_store_dwordx2", "", None),
                  Instruction(8, "v_nop", "", None), Instruction(12, "s_endpgm", "", None)]
        end = len(listed) - 1
        self.assertEqual(estimate.shortest_path(listed, 0, lambda at: at == end), 1)
        self.assertEqual(estimate.shortest_path(listed, 0, lambda at: at == end, stores=1), 3)
        self.assertIsNone(estimate.shortest_path(listed, 0, lambda at: at == end, stores=2))
        self.assertIsNone(estimate.shortest_path(listed, 0, lambda at: at == end, loads=1))
        listed[2] = Instruction(8, *LOAD, None)
        self.assertEqual(estimate.shortest_path(listed, 0, lambda at: at == end, loads=1), 3)

    def test_max_takes_one_workgroup_a_unit_and_tiles_over_all_frames(self):
        kernel = conv_kernel("k", (128, 128, 64), "uniform", (3000.0, 4000.0), 100.0)
        # 3 x 16 x 16 pixels: 6 tiles; 9 k blocks: 5 trips
        problem = estimate.Problem("p", 3, 16, 16, 64, 128, (1, 3, 3), 200)
        alone = estimate.LAUNCH + (5 * 3000 + 100) / estimate.CLOCK
        self.assertAlmostEqual(estimate.max_seconds(problem, kernel), alone)
        modelled, share = estimate.reached(problem, {estimate.max_tile(problem): kernel})
        self.assertAlmostEqual(modelled * share, 200)
        self.assertAlmostEqual(modelled, problem.flops / alone / 1e12)
        rounds = estimate.Problem("p", 257, 16, 16, 64, 128, (1, 3, 3))  # 514 tiles: three rounds
        self.assertAlmostEqual(estimate.max_seconds(rounds, kernel),
                               estimate.LAUNCH + 3 * (5 * 3000 + 100) / estimate.CLOCK)
        self.assertEqual([estimate.max_tile(dataclasses.replace(problem, c_in=c_in))[len("kg_conv_bf16_"):]
                          for c_in in (16, 96, 192)],
                         ["128x128x64_chunks", "128x128x32_uniform", "128x128x64_uniform"])

    def test_misses_of_l2_and_waves_out_of_step_take_longer(self):
        once = self.cycles(LOAD, wait(vmcnt=0), ("s_barrier", ""))
        with estimate.constants({}, {"MISSES": 1.0}):
            missed = self.cycles(LOAD, wait(vmcnt=0), ("s_barrier", ""))
        self.assertAlmostEqual(missed - once, 4 * 1024 * (1 / estimate.BEYOND_L2_BYTES - 1 / estimate.L2_BYTES)
                               + estimate.MISS_LATENCY - estimate.MEMORY_LATENCY)
        with estimate.constants({}, {"STALL": estimate.LONGEST_STALL}):
            self.assertAlmostEqual(self.cycles(LOAD, wait(vmcnt=0), ("s_barrier", "")) - once, estimate.LONGEST_STALL)
        self.assertEqual((estimate.MISSES, estimate.STALL), (0, 0))

    def test_the_share_that_misses_is_that_of_different_rows(self):
        kernel = conv_kernel("k", (256, 192, 64), "uniform", (3000.0,))
        line = "k\t1\t384\t384\t1\t1\t64\t128\t3\t3\t3\t1\t0\t1000\t256x192x64_uniform\t1"
        # 32 workgroups on an XCD: 16 of other pixels, 2 of other channels
        self.assertAlmostEqual(estimate.Layer.of(line).misses(kernel), (16 * 256 + 2 * 192) / (32 * (256 + 192)))

    def test_a_layer_of_a_decoder_is_read_as_the_planner_prints_it(self):
        line = ("decoder.head.2\t1\t96\t8\t4\t16\t64\t128\t3\t2\t2\t3\t0\t1000\t"
                "128x128x64_uniform / 3, then join_sums_bf16, then rms_norm_bf16\t12.5")
        layer = estimate.Layer.of(line)
        self.assertEqual(layer.flops, 2 * 16 * 64 * 128 * 8 * 96 * 12)
        kernel = conv_kernel("kg_conv_bf16_128x128x64_uniform", (128, 128, 64), "uniform", (3000.0, 4000.0), 100.0)
        # 3 * ceil(2 * 2 * 96 / 64) = 18 k blocks: 9 trips, 3 a part; 3 * 16 * 64 = 3072 workgroups: 6 rounds of two a
        # unit
        time, after = layer.seconds({kernel.name: kernel})
        self.assertAlmostEqual(time, estimate.LAUNCH + 6 * (3 * 4000 + 100) / estimate.CLOCK)
        output = 2 * 16 * 64 * 128 * 8
        self.assertAlmostEqual(after, 2 * estimate.LAUNCH + (12 + 1 + 2) * output / estimate.HBM_BYTES)

    def test_a_table_of_costs_that_says_otherwise_is_told_row_by_row(self):
        def kernels_of(element):
            return {"bf16": [conv_kernel("kg_conv_bf16_64x64x32_chunks", (64, 64, 32), "chunks", (700.0, 1000.4),
                                         2000.0)],
                    "f16": [], "f8": []}[element]

        row = "KG_COST_16(64, 64, 32, Chunks, {}, {}, 700, {}, 700, {})\n"
        self.assertEqual(estimate.disagreements(row.format(2, 1000, 1000, 2000), kernels_of), [])
        self.assertEqual(estimate.disagreements(row.format(2, 1005, 995, 1990), kernels_of), [])
        for wrong in ((1, 1000, 1000, 2000), (2, 1020, 1000, 2000), (2, 1000, 980, 2000), (2, 1000, 1000, 1960)):
            said = (*wrong[:2], 700, wrong[2], 700, wrong[3])
            self.assertEqual(estimate.disagreements(row.format(*wrong), kernels_of),
                             [f"kg_conv_bf16_64x64x32_chunks: the table says {said}, the machine code (2, 1000, 700, "
                              "1000, 700, 2000)"])
        self.assertEqual(estimate.disagreements("", kernels_of), ["kg_conv_bf16_64x64x32_chunks has no row"])
        gone = row.format(2, 1000, 1000, 2000) + "KG_COST_8(64, 64, 128, Chunks, 2, 1, 1, 1, 1, 1)\n"
        self.assertEqual(estimate.disagreements(gone, kernels_of),
                         ["no kernel has the row ('8', (64, 64, 128), 'chunks')"])

    def test_branches_go_where_their_encoding_says(self):
        text = ("0000000000001500 <k>:\n\ts_nop 0  // 000000001500: BF800000\n"
                "\ts_cbranch_scc1 65534  // 000000001504: BF85FFFE\n")
        self.assertEqual([i.target for i in code_object.parse_disassembly(text)], [None, 0x1500])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
