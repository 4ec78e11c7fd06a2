#pragma once

#include <kinetograph/kernels/isa/element.hpp>
#include <span>
#include <string_view>

/// Every kernel that is built, as one list: the .hip files make them of it, the host its table.
namespace kinetograph::gfx950 {

enum class ConvPath : uint8_t {
    Uniform,
    Padded,
    Chunks,
    Pieces,
    Elements
};  ///< ConvLoader (four_wave_conv_config.hpp)

struct ConvTile {
    uint32_t bm, bn, bk;
    friend bool operator==(const ConvTile&, const ConvTile&) = default;
};

struct ConvKernel {
    std::string_view name;         ///< "kg_conv_bf16_128x128x64_uniform"
    std::string_view code_object;  ///< "four_wave_conv_bf16"
    Element element;
    ConvTile tile;
    ConvPath path;
};

inline constexpr ConvKernel kConvKernels[] = {
#define KG_CONV_16(bm, bn, bk, loader, name)           \
    {"kg_conv_bf16_" #bm "x" #bn "x" #bk "_" #name,    \
     "four_wave_conv_bf16",                            \
     Element::BF16,                                    \
     {bm, bn, bk},                                     \
     ConvPath::loader},                                \
        {"kg_conv_f16_" #bm "x" #bn "x" #bk "_" #name, \
         "four_wave_conv_f16",                         \
         Element::F16,                                 \
         {bm, bn, bk},                                 \
         ConvPath::loader},
#define KG_CONV_8(bm, bn, bk, loader, name) \
    {"kg_conv_f8_" #bm "x" #bn "x" #bk "_" #name, "four_wave_conv_f8", Element::F8E4M3, {bm, bn, bk}, ConvPath::loader},
#include <kinetograph/kernels/hip/gfx950/four_wave_conv_kernels.inc>
#undef KG_CONV_16
#undef KG_CONV_8
};

}  // namespace kinetograph::gfx950
