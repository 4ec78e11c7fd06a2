"""What the design promises of every kernel for gfx950, as tools/gfx950/check.py asks for it.

A kernel of FourWaveConv is described by its name; the formulas are those of four_wave_conv_config.hpp, so that a
compiler that loses the schedule, or an edit that leaves the design, is found. `workgroups_a_compute_unit` is the
occupancy that the launch counts on: it bounds registers and LDS.
"""

import re

# Kernels that must exist, by the beginning of their names.
COUNTS = {"kg_conv_bf16_": 21, "kg_conv_f16_": 21, "kg_conv_f8_": 15, "kinetograph_attention_": 20,
          "kinetograph_rms_norm_": 6, "kinetograph_group_": 7, "kinetograph_upsample_": 3, "kinetograph_im2col_": 4,
          "kinetograph_pack_filter_": 5,
          "kinetograph_unpack_latent_": 6,
          "kinetograph_join_sums_": 3, "kinetograph_store_": 9}

# Instructions that store 16, 8, 4, 2 and 1 bytes of a lane.
X16, X8, X4, X2, X1 = (f"buffer_store_{size}" for size in ("dwordx4", "dwordx2", "dword", "short", "byte"))


def streaming(*stores):
    """With eight workgroups of four waves and 64 registers a lane, waves hide each other's waits."""
    return {"threads": 256, "workgroups_a_compute_unit": 8, "stores": stores, "accumulator_moves": 0}


def holding(*stores):
    """The norm keeps its pixels, and the sum of parts its terms, in registers."""
    return {"threads": 256, "workgroups_a_compute_unit": 4, "stores": stores, "accumulator_moves": 0}


# What moves frames of any alignment stores a value a lane; RGBA8 is 4 bytes a pixel, half floats a pixel 8, their flag
# 4.
PASSES = (
    ("kinetograph_(upsample_nearest2x|im2col)_16", streaming(X16)),
    ("kinetograph_(upsample_nearest2x|im2col|depth_to_space)_4", streaming(X4)),
    ("kinetograph_(upsample_nearest2x|im2col|depth_to_space)_2", streaming(X2)),
    ("kinetograph_im2col_1", streaming(X1)),
    ("kinetograph_pack_filter_(bf16|f16|f8_e4m3)_(f32|bf16|f16)", streaming(X4)),
    ("kinetograph_unpack_latent_(bf16|f16|f32)", streaming(X16)),
    ("kinetograph_unpack_latent_f32_any", streaming(X4)),
    ("kinetograph_unpack_latent_(bf16|f16)_any", streaming(X2)),
    ("kinetograph_store_float_(bf16|f16|f32)", streaming(X16, X8, X4)),
    ("kinetograph_store_float_(bf16|f16|f32)_any", streaming(X4, X2)),
    ("kinetograph_store_rgba8_(bf16|f16|f32)", streaming(X4)),
    ("kinetograph_join_sums_(bf16|f16|f32)", holding(X16)),
    ("kinetograph_attention_(values_(16|32)|join_f32)", streaming(X16)),
    ("kinetograph_attention_join_(bf16|f16)", streaming(X8)),
    ("kinetograph_rms_norm_(bf16|f16|f32)", holding(X16)),
    ("kinetograph_rms_norm_f32_any", holding(X4)),
    ("kinetograph_group_(moments_(bf16|f16|f32)|factors)", holding(X4)),
    ("kinetograph_group_norm_f32", holding(X16, X4)),
    ("kinetograph_group_norm_(bf16|f16)", holding(X16, X2)),
    ("kinetograph_rms_norm_(bf16|f16)_any", holding(X2)),
)

MFMA = {"bf16": "v_mfma_f32_16x16x32_bf16", "f16": "v_mfma_f32_16x16x32_f16", "f8": "v_mfma_f32_16x16x128_f8f6f4",
        "f32": "v_mfma_f32_16x16x4_f32"}


def expectation(kernel):
    """The limits for the kernel of that name, or None if it is not expected."""
    for pattern, limits in PASSES:
        if re.fullmatch(pattern, kernel):
            return limits
    if parts := re.fullmatch(r"kinetograph_attention_(bf16|f16|f32)_(64|128|256|384)", kernel):
        return attention(parts[1])
    if parts := re.fullmatch(r"kinetograph_attention_(bf16|f16|f32)_1024", kernel):
        return sliced_attention(parts[1])
    if parts := re.fullmatch(r"kg_conv_(bf16|f16|f8)_(\d+)x(\d+)x(\d+)_(uniform|padded|chunks|pieces|elements)",
                             kernel):
        return convolution(parts[1], int(parts[2]), int(parts[3]), int(parts[4]), parts[5])
    return None


def attention(element):
    """passes/attention_config.hpp: eight waves, two a SIMD. Eight products of 16-bit elements (32 of float32) are one
    load to LDS of a wave; the narrowest kernel meets its barriers and its softmax that often too. The parts of split
    keys are stored as float32, four a lane; outputs of 16 bits are 8 bytes a lane."""
    wide = element == "f32"
    return {"threads": 512, "workgroups_a_compute_unit": 1, "stores": (X16, X8), "accumulator_moves": 0,
            "main_loop": {"mfma": MFMA[element], "mfma_a_k_step": 32 if wide else 8, "lds_reads_a_k_step": 8,
                          "loads_to_lds_a_k_step": 1, "barriers_a_k_step": 1, "vector_a_k_step": 40 if wide else 80}}


def sliced_attention(element):
    """The same in slices: four waves, one a SIMD, so that a wave issues twice the loads to LDS and a lane has twice the
    registers, half of them accumulation registers. Those are moved where a new maximum rescales the 64 sums, and around
    the loop; float32 keeps queries in them, too."""
    wide = element == "f32"
    limits = attention(element)
    return limits | {"threads": 256, "accumulator_moves": 664 if wide else 456, "main_loop": limits["main_loop"] | {
        "mfma_a_k_step": 16 if wide else 4, "lds_reads_a_k_step": 4, "vector_a_k_step": 20 if wide else 40}}


def convolution(element, bm, bn, bk, loader):
    """four_wave_conv_config.hpp: four waves in four quadrants of the tile, two LDS stages, two k blocks a trip."""
    size = 1 if element == "f8" else 2
    chunks = bk * size // 16
    products = bk // (128 if element == "f8" else 32)
    rows_of_loads = 4 * (64 // chunks)
    waves_n = 2 if bn % 64 == 0 and bm < 4 * bn else 1
    waves_m = 4 // waves_n

    def loads(rows):
        return -(-rows // rows_of_loads)

    half_a, half_b = loads(bm // 2), loads(bn // 2)
    direct = loader in ("uniform", "padded", "chunks")
    lds_bytes = 2 * 2 * (half_a + half_b) * 4096
    resident = 2 if bm * bn <= 128 * 192 and lds_bytes <= 80 * 1024 else 1
    # Addresses: for every load of the activation an offset, its test, and what the path needs to find its tap.
    address = {"uniform": 4, "padded": 5, "chunks": 26, "pieces": 26 * (16 // (4 if element == "f8" else 8)),
               "elements": 30 * (16 // size)}[loader]
    main_loop = {
        "mfma": MFMA[element],
        "mfma_a_k_step": bm * bn * bk // (4 * 16 * 16 * (128 if element == "f8" else 32)),
        "lds_reads_a_k_step": (bm // waves_m + bn // waves_n) // 16 * products * (2 if element == "f8" else 1),
        "loads_to_lds_a_k_step": 2 * (half_b + (half_a if direct else 0)),
        "barriers_a_k_step": 2,
        "full_waits": 0 if direct else 4 * half_a + 2,
        "accumulator_moves": 0,
        "vector_a_k_step": 2 * half_a * address + 2 * half_b * 4 + 8,
        "scalar_a_k_step": 84 if direct else 220,
    }
    # addresses and the advance to the next tap are spread over the products, where a quadrant has enough of them
    if direct:
        main_loop["crowded"] = 200
        near = 24 if element == "f8" else 20
        main_loop["longest_heap"] = near if loader != "chunks" and bm * bn >= 128 * 128 else 52
    if not direct:
        pieces = 16 // (size if loader == "elements" else 4 if element == "f8" else 8)
        main_loop["lds_writes"] = 4 * half_a
        main_loop["loads_to_registers"] = 4 * half_a * pieces
    # 16 bytes a lane; where the epilogue takes odd numbers of channels, single values of 16 bits and of float32 too.
    stores = (X16,) if bm * bn > 128 * 128 else (X16, X4, X2)
    return {"threads": 256, "workgroups_a_compute_unit": resident, "stores": stores, "main_loop": main_loop}
