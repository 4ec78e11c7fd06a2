#include <kinetograph/compute/conv/onednn/library.hpp>
#include <kinetograph/engine/base/processor.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace kinetograph::conv::onednn {
namespace {

struct Isa {
    dnnl::cpu_isa isa;
    std::string_view name;
};

// The largest first.
constexpr Isa kIsas[] = {
    {dnnl::cpu_isa::avx512_core_amx, "amx"},
    {dnnl::cpu_isa::avx512_core_bf16, "avx512_bf16"},
    {dnnl::cpu_isa::avx512_core_vnni, "avx512_vnni"},
    {dnnl::cpu_isa::avx512_core, "avx512"},
    {dnnl::cpu_isa::avx2_vnni, "avx2_vnni"},
    {dnnl::cpu_isa::avx2, "avx2"},
    {dnnl::cpu_isa::avx, "avx"},
    {dnnl::cpu_isa::sse41, "sse41"},
};

dnnl::cpu_isa limit_of(InstructionSet cap) {
    switch (cap) {
        case InstructionSet::Baseline:
            return dnnl::cpu_isa::sse41;
        case InstructionSet::Avx2:
            return dnnl::cpu_isa::avx2;
        case InstructionSet::Avx512:
            return dnnl::cpu_isa::avx512_core_vnni;
        case InstructionSet::Avx512Bf16:
            return dnnl::cpu_isa::avx512_core_bf16;
        case InstructionSet::Amx:
            return dnnl::cpu_isa::avx512_core_amx;
    }
    return dnnl::cpu_isa::all;
}

/// Its code for this process, settled on the first call.
dnnl::cpu_isa effective_isa() {
    static const dnnl::cpu_isa isa = [] {
        // The C function returns what the C++ one throws: that the limit has been settled before.
        if (const auto cap = processor().cap) (void)dnnl_set_max_cpu_isa(static_cast<dnnl_cpu_isa_t>(limit_of(*cap)));
        return dnnl::get_effective_cpu_isa();
    }();
    return isa;
}

bool contains(dnnl::cpu_isa isa, dnnl::cpu_isa wanted) {
    const auto bits = static_cast<unsigned>(wanted);
    return (static_cast<unsigned>(isa) & bits) == bits;
}

}  // namespace

dnnl::engine cpu_engine() {
    (void)effective_isa();
    return {dnnl::engine::kind::cpu, 0};
}

bool generates_avx512() { return contains(effective_isa(), dnnl::cpu_isa::avx512_core); }

std::string library_text() {
    const auto largest = std::ranges::find_if(kIsas, [](const Isa& one) { return contains(effective_isa(), one.isa); });
    const dnnl_version_t& version = *dnnl_version();
    return fmt::format("oneDNN {}.{}.{} for {}", version.major, version.minor, version.patch,
                       largest == std::end(kIsas) ? "any x86-64" : largest->name);
}

}  // namespace kinetograph::conv::onednn
