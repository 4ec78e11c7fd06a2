#pragma once

#include <kinetograph/kernels/hip/gfx950/passes/attention_config.hpp>
#include <kinetograph/kernels/hip/gfx950/passes/launch_shape.hpp>
#include <kinetograph/kernels/hip/gfx950/rates.hpp>

namespace kinetograph::gfx950 {

/// softmax(q k^T / sqrt(channels)) v over the tokens of one frame; several frames take one launch each.
struct AttentionProblem {
    int64_t tokens = 0;
    int64_t channels = 0;  ///< a multiple of 8, at most 1024; more than 384 are taken in slices
    Element storage = Element::BF16;
    uint32_t compute_units = 256;  ///< of the device: the keys are split until it is busy
    uint32_t lds_read_bytes = kLdsReadBytes;
};

/// The launches of a frame, in order, and their workspace.
struct AttentionPlan {
    uint32_t width = 0;          ///< channels that are computed: 64, 128, 256, 384 or 1024
    uint32_t padded_tokens = 0;  ///< of the transposed values
    uint32_t splits = 1;         ///< of the keys
    uint32_t split_tokens = 0;
    LaunchShape values;  ///< transposes v
    LaunchShape attend;  ///< one workgroup for 128 queries and a split; in slices for 64, a split and a slice
    std::optional<LaunchShape> join;               ///< with more splits than one
    uint64_t partial_offset = 0, rows_offset = 0;  ///< of the splits' sums in the workspace; the values lie at 0
    uint64_t workspace_bytes = 0;
};

struct AttentionLaunchParams {
    AttentionValuesParams values;
    AttentionParams attend;
    AttentionJoinParams join;
};

Refusal refusal(const AttentionProblem& problem);
AttentionPlan plan(const AttentionProblem& problem);
/// qkv [tokens, 3 * channels]: query, key, value of a token in this order; output [tokens, channels]; both 16-byte
/// aligned, workspace 256-byte.
AttentionLaunchParams make_params(const AttentionProblem& problem, const std::byte* qkv, std::byte* output,
                                  std::byte* workspace);

/// The number of splits of the keys with the least estimated clocks.
uint32_t attention_splits(const AttentionProblem& problem);
/// Of a frame: the tiles of keys that follow each other on a compute unit, in all rounds of its workgroups, with those
/// that fill the ring.
int64_t attention_key_tiles(const AttentionProblem& problem, uint32_t splits);
/// Of a frame: what its values' transposition and the join of the splits read and write in HBM.
uint64_t attention_bytes(const AttentionProblem& problem, uint32_t splits);
/// Of a frame: its tiles at the cost of the compiled loop (attention_costs.inc), and its bytes at an MI355X's rates.
double attention_clocks(const AttentionProblem& problem, uint32_t splits);
/// With its launches.
double attention_seconds(const AttentionProblem& problem, const conv::Chip& chip);

}  // namespace kinetograph::gfx950
