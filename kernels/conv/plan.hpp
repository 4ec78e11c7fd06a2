#pragma once

#include <array>
#include <cassert>
#include <cstring>
#include <functional>
#include <kinetograph/kernels/conv/gate.hpp>
#include <kinetograph/kernels/conv/tensors.hpp>
#include <kinetograph/kernels/isa/tensor_map.hpp>
#include <type_traits>
#include <variant>
#include <vector>

/// ConvPlan: how a chip runs one convolution. Pure host code: a plan is a function of problem and chip; its steps are a
/// function of the call's addresses.
namespace kinetograph::conv {

/// A kernel's single parameter, by value.
struct alignas(64) Arguments {
    std::array<std::byte, 4096> storage;  ///< 4 KiB: accepted by every driver
    std::uint32_t bytes = 0;

    template <class Params>
    static Arguments of(const Params& params) {
        static_assert(std::is_trivially_copyable_v<Params> && sizeof(Params) <= sizeof(storage) &&
                      alignof(Params) <= 64);
        Arguments arguments;
        std::memcpy(arguments.storage.data(), &params, sizeof(Params));
        arguments.bytes = sizeof(Params);
        return arguments;
    }
    /// A copy of the value that of() was given.
    template <class Params>
    Params as() const {
        assert(bytes == sizeof(Params));
        Params params;
        std::memcpy(&params, storage.data(), sizeof(Params));
        return params;
    }
    std::span<const std::byte> span() const { return std::span(storage).first(bytes); }
};

/// One of the plan's kernels over a grid.
struct ConvLaunch {
    std::uint32_t kernel = 0;                       ///< index into ConvPlan::kernels
    std::array<std::uint32_t, 3> grid{1, 1, 1};     ///< CTAs
    std::array<std::uint32_t, 3> cluster{1, 1, 1};  ///< CTAs
    std::uint32_t threads = 0;                      ///< per CTA
    std::uint32_t shared_bytes = 0;                 ///< dynamic, per CTA
    Arguments arguments;

    bool empty() const { return grid[0] == 0 || grid[1] == 0 || grid[2] == 0; }
};
/// A copy of a frame from one device address to another.
struct ConvCopy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::uint64_t bytes = 0;
};
/// Work on the host, enqueued like a kernel. Returns what went wrong; "" if nothing did.
using HostWork = std::function<std::string()>;
using ConvStep = std::variant<ConvLaunch, ConvCopy, HostWork>;

/// Makes the tensor map for a description: by the driver's call, or by the host model.
using EncodeMap = std::function<isa::TensorMap(const isa::TensorMapDesc&)>;

struct KernelName {
    std::string kernel;      ///< entry point: "sm80_conv_bf16_128x96"
    std::string_view image;  ///< fat binary or code object that holds it: "conv_bf16"
};

/// One launch that packs a filter from device memory into device memory.
struct FilterPackLaunch {
    KernelName kernel;
    ConvLaunch launch;
};

/// How a plan's kernels want the parameters. Separate from the plan, because one packing serves any number of frames.
struct ParameterPacking {
    std::string layout;  ///< plans of one convolution whose layouts are equal read the same bytes
    /// Of parameters whose filter is empty: the others.
    std::function<PackedParameters(const ConvParameters&)> pack;
};

struct ConvPlan {
    std::vector<KernelName> kernels;  ///< indexed by ConvLaunch::kernel
    std::uint64_t workspace_bytes = 0;
    double seconds = 0;                  ///< predicted
    std::uint32_t cluster = 1;           ///< CTAs of a cluster of the first kernel
    std::uint32_t clusters_at_once = 0;  ///< that the plan counts on; 0 if it has none
    ParameterPacking packing;
    std::uint64_t packed_filter_bytes = 0;  ///< set with pack_on_device
    /// The bytes of packing.pack of a filter that is in device memory; null where the chip has no kernel for it.
    std::function<FilterPackLaunch(const DeviceFilter&, std::byte* packed)> pack_on_device;
    /// The steps of one call, to be enqueued in order in one stream; each step waits for those before it.
    std::function<std::vector<ConvStep>(const ConvTensors&, const ParameterAddresses&, const EncodeMap&)> steps;
};

/// Which intermediate values a method rounds to the problem's element type, once each, in addition to the result.
enum class Rounding : std::uint8_t {
    Once,      ///< none, as ConvProblem promises
    Operands,  ///< sums and differences of inputs, which Winograd methods multiply in place of the inputs
    Finer,     ///< those and their products, of bf16 inputs, but to fp16, which has three more bits
    Between,   ///< partial sums of the result; such a method runs only when asked for by name
};
/// Expected ||result - exact|| / ||exact|| of a convolution without norm and residual, whose filter is given as
/// float32. `element`: ConvProblem::coarser_operand().
double expected_error(Rounding rounding, Element element);

/// The kernels of a method that has several, so that a caller can name one. Only for problems that pass its gates.
struct KernelChoice {
    /// Entry points that compute the problem, cheapest first.
    std::vector<std::string_view> (*kernels)(const ConvProblem&, const Chip&) = nullptr;
    /// The plan with one of them.
    ConvPlan (*plan)(const ConvProblem&, const Chip&, std::string_view kernel) = nullptr;
};

/// A way to convolve on some chips, named <method>-<chip>. Its gates say which problems it takes; plan() may be called
/// only for problems that pass them.
struct ConvMethod {
    std::string_view name;     ///< "implicit-gemm-sm80"
    std::string_view summary;  ///< one line for people
    std::span<const Gate<Subject>> gates;
    ConvPlan (*plan)(const ConvProblem&, const Chip&);
    Rounding rounding = Rounding::Once;
    KernelChoice choice = {};
    bool carries = false;  ///< takes problems with carried sums
    bool bytes = false;    ///< takes problems whose input or norm is U8
};

/// A method without a kernel: what one would take, beside a method that runs.
struct ConvModel {
    std::string_view name;                 ///< "winograd-time-sm100"
    std::span<const Gate<Subject>> gates;  ///< of the problems and chips that it covers
    double (*seconds)(const ConvProblem&, const Chip&);
    std::string_view beside;                                    ///< the chip's method for the same problems
    double (*seconds_beside)(const ConvProblem&, const Chip&);  ///< that method's seconds
};

}  // namespace kinetograph::conv
