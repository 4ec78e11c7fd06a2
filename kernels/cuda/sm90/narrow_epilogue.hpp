#pragma once

#include <kinetograph/kernels/cuda/sm90/narrow_params.hpp>
#include <kinetograph/kernels/isa/convert.hpp>
#include <kinetograph/kernels/isa/global_memory.hpp>
#include <kinetograph/kernels/isa/math.hpp>

/// What the narrow product's kernels do to the sums of `kTogether` neighbouring output channels.
namespace kinetograph::sm90 {

template <Element kElement, uint32_t kTogether>
struct NarrowEpilogue {
    using Values = float[kTogether];

    /// SiLU or ReLU of the sums and their residual.
    KG_DEVICE static void finish(const NarrowOutput& p, const Values& residual, Values& sums) {
        KG_UNROLL
        for (uint32_t j = 0; j < kTogether; ++j) {
            if (p.silu != 0) sums[j] = isa::silu(sums[j]);
            sums[j] += p.beta * residual[j];
            if (p.relu != 0) sums[j] = isa::leaky_relu(sums[j], p.negative_slope);
        }
    }

    /// Zeros if `from` is null.
    KG_DEVICE static void load(const NarrowOutput& p, const void* from, size_t element, Values& values) {
        if (from == nullptr) {
            KG_UNROLL
            for (float& value : values) value = 0;
            return;
        }
        if (p.float32 != 0) {
            const Floats all = isa::load_global<Floats>(static_cast<const float*>(from) + element);
            KG_UNROLL
            for (uint32_t j = 0; j < kTogether; ++j) values[j] = all.at[j];
            return;
        }
        const Elements all = isa::load_global<Elements>(static_cast<const uint16_t*>(from) + element);
        KG_UNROLL
        for (uint32_t j = 0; j < kTogether; ++j) {
            float both[2];
            isa::unpack_word<kElement>(all.at[j], both);
            values[j] = both[0];
        }
    }

    KG_DEVICE static void store(const NarrowOutput& p, void* to, size_t element, const Values& values) {
        if (p.float32 != 0) {
            Floats all;
            KG_UNROLL
            for (uint32_t j = 0; j < kTogether; ++j) all.at[j] = values[j];
            return isa::store_global(static_cast<float*>(to) + element, all);
        }
        Elements all;
        KG_UNROLL
        for (uint32_t j = 0; j < kTogether; ++j) {
            const float both[2] = {values[j], 0};
            all.at[j] = static_cast<uint16_t>(isa::pack_word<kElement>(both));
        }
        isa::store_global(static_cast<uint16_t*>(to) + element, all);
    }

  private:
    struct alignas(sizeof(Values)) Floats {
        Values at;
    };
    struct alignas(2 * kTogether) Elements {
        uint16_t at[kTogether];
    };
};

}  // namespace kinetograph::sm90
