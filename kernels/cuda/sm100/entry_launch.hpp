#pragma once

#include <kinetograph/kernels/conv/plan.hpp>
#include <kinetograph/kernels/cuda/sm100/conv2d_launch.hpp>
#include <kinetograph/kernels/cuda/sm100/cost.hpp>

/// An entry of kConv2dEntries as a step of a plan.
namespace kinetograph::sm100 {

/// The entry of that name; null if none is built.
const Conv2dEntry* find_entry(std::string_view name);
/// The entry's name and the fat binary that holds it: each of conv2d_*.cu makes one.
conv::KernelName kernel_name(const Conv2dEntry& entry);

/// The chip's rates for the estimates.
ChipRates rates_of(const conv::Chip& chip);

/// The epilogue of one launch.
struct EntryEpilogue {
    const float* bias = nullptr;    ///< [c_out] or null
    const float* scales = nullptr;  ///< likewise
    float alpha = 1;
    float beta = 0;                 ///< of a residual source
    float* channel_sums = nullptr;  ///< [c_out], of EntryFunction::ChannelSums
};

/// The launch of `entry`, its plan's kernel `kernel`; encodes the tensor maps of `launch`.
conv::ConvLaunch entry_launch(const Conv2dEntry& entry, uint32_t kernel, const Conv2dLaunch& launch,
                              const EntryEpilogue& epilogue, const conv::EncodeMap& encode);

/// The launch of an element-wise pass: a grid of `blocks` blocks along x.
template <class Params>
conv::ConvLaunch pass_launch(uint32_t kernel, uint32_t blocks, uint32_t threads, const Params& params) {
    return {.kernel = kernel, .grid = {blocks, 1, 1}, .threads = threads, .arguments = conv::Arguments::of(params)};
}

/// How many of `frames`, counted from the first, follow one another in memory.
template <class Byte>
size_t adjoining(std::span<Byte* const> frames, uint64_t frame_bytes) {
    size_t count = frames.empty() ? 0 : 1;
    while (count < frames.size() && frames[count] == frames[count - 1] + frame_bytes) ++count;
    return count;
}
template <class Byte>
bool all_adjoin(std::span<Byte* const> frames, uint64_t frame_bytes) {
    return adjoining(frames, frame_bytes) == frames.size();
}

/// Tensor maps take no const addresses: the same description serves loads and stores.
template <class Byte>
std::vector<void*> map_addresses(std::span<Byte* const> frames) {
    std::vector<void*> all;
    all.reserve(frames.size());
    for (Byte* frame : frames) all.push_back(const_cast<std::byte*>(frame));
    return all;
}

}  // namespace kinetograph::sm100
