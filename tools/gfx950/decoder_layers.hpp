// A decoder's step as gfx950 runs it, in passes and launches, from the network's passes and the dispatch's plans.
#pragma once

#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/kernels/hip/gfx950/plan.hpp>
#include <kinetograph/tools/decoder_step/step_passes.hpp>

#include <string>
#include <vector>

namespace kinetograph::gfx950 {

/// The launches of a step that solve one problem.
struct DecoderLayer {
    std::string key;            ///< the checkpoint's: "decoder.upsamples.0.residual.2", of the first such layer
    conv::ConvProblem problem;  ///< with residual and norm, as a decoder declares it
    std::int64_t launches = 0;  ///< in a step
    std::string kernels;        ///< "256x192x64_uniform, then rms_norm_bf16"; parts of K: "128x192x64_uniform / 3, ..."
    FourWaveConvParams params;  ///< of its first kernel
    double seconds = 0;         ///< predicted, of one launch
};

/// Passes of one kind that are not convolutions.
struct OtherPasses {
    std::string kind;            ///< "norms", "attention", "kept frames", "latents in", "frames out", "moved pixels"
    std::string first;           ///< name of the first such pass
    std::int64_t launches = 0;   ///< in a step
    std::uint64_t bytes = 0;     ///< read and written in HBM
    std::int64_t key_tiles = 0;  ///< attention: that follow each other on a compute unit
    std::string kernel{};        ///< attention: the one that multiplies
    double seconds = 0;          ///< predicted, of all
};

struct DecoderStep {
    std::vector<DecoderLayer> layers;  ///< one per problem, in the order in which they first run
    std::vector<OtherPasses> others;
    std::vector<vae::StepPass> passes;  ///< in the order of the graph that vae::declare_step makes

    double seconds() const;  ///< predicted, of all
};

/// `launches` launches of the dispatch's plan for a problem that FourWaveConv takes.
DecoderLayer layer_of(std::string key, const conv::ConvProblem& problem, std::int64_t launches, const conv::Chip& chip);

/// A later step of a family's published decoder, or its only one, in bf16: one latent frame to frames of height x width
/// as float32, the picture decoded as a whole. An attention that has no kernel is listed in `passes` only.
DecoderStep decoder_step(const families::Family& family, std::int64_t height, std::int64_t width,
                         const conv::Chip& chip);

}  // namespace kinetograph::gfx950
