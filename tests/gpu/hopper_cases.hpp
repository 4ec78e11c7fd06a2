#pragma once

#include <algorithm>
#include <kinetograph/kernels/isa/tensor_map.hpp>

#include "hopper_kernels.hpp"
#include "launch_shape.hpp"

/// The conformance suite: every instruction that Hopper shares with the host model, in the forms that kernels use. A
/// back end runs a case, which leaves bytes; two back ends agree if the bytes of all cases are equal.
namespace kinetograph::gpu_tests {

using isa::MapMode;
using isa::Swizzle;
using isa::TensorMapDesc;

inline constexpr Swizzle kSwizzles[] = {Swizzle::None, Swizzle::Span32, Swizzle::Span64, Swizzle::Span128};

template <class Backend>
class HopperCases {
  public:
    explicit HopperCases(Backend& backend) : backend_(backend) {}

    std::vector<CaseResult> run() {
        tiled_loads();
        im2col_loads();
        stores();
        multicasts();
        threads_and_barriers();
        products();
        matrix_products();
        return std::move(results_);
    }

  private:
    // --- pieces ---

    /// Bytes that identify their position; no two consecutive 16-bit words are equal.
    static std::vector<uint8_t> coded(uint64_t bytes) {
        std::vector<uint8_t> values(bytes);
        for (uint64_t i = 0; i < bytes; ++i) values[i] = static_cast<uint8_t>((i / 2 % 65521 + 1) >> (8 * (i % 2)));
        return values;
    }

    /// A dense tensor in the back end's memory and its map.
    TensorMapDesc tensor(MapMode mode, Element element, uint32_t rank, const std::array<uint64_t, 5>& size,
                         std::vector<uint8_t>& values) {
        uint64_t bytes = element_bytes(element);
        for (uint32_t axis = 0; axis < rank; ++axis) bytes *= size[axis];
        values = coded(bytes);
        return isa::dense_map(mode, element, backend_.place(values), rank, size);
    }

    template <class Kernel>
    static LaunchShape shape_of(uint32_t cluster = 1) {
        LaunchShape shape;
        shape.grid[0] = shape.cluster[0] = cluster;
        shape.threads = Kernel::kThreads;
        shape.shared_bytes = sizeof(typename Kernel::Shared);
        return shape;
    }

    template <class Kernel>
    void add(const std::string& name, const LaunchShape& shape, const typename Kernel::Params& wanted,
             uint32_t out_bytes) {
        CaseResult result{name, std::vector<uint8_t>(out_bytes, 0xee), ""};
        typename Kernel::Params params = wanted;
        params.out = static_cast<uint32_t*>(backend_.place(result.bytes));
        result.trouble = backend_.template run<Kernel>(shape, params);
        if (result.trouble.empty()) backend_.fetch(result.bytes);
        results_.push_back(std::move(result));
    }

    template <int kRank, bool kIm2col>
    void add_load(const std::string& name, const TensorMapDesc& map, const std::array<int32_t, 5>& at,
                  const std::array<uint16_t, 3>& tap = {}) {
        using Kernel = LoadKernel<kRank, kIm2col>;
        typename Kernel::Params params{
            .map = backend_.encode(map), .at = {}, .tap = {}, .bytes = isa::box_bytes(map), .out = nullptr};
        std::copy_n(at.begin(), kRank, params.at.at);
        std::copy_n(tap.begin(), std::size(params.tap.at), params.tap.at);
        add<Kernel>(name, shape_of<Kernel>(), params, params.bytes);
    }

    static std::string swizzle_name(Swizzle swizzle) {
        return swizzle == Swizzle::None ? "none" : std::to_string(isa::span_bytes(swizzle)) + "B";
    }

    // --- tiled loads ---

    template <int kRank>
    void tiled_rank(Element element, const std::array<uint64_t, 5>& size, const std::array<uint32_t, 5>& box) {
        const uint32_t bytes = element_bytes(element);
        for (const Swizzle swizzle : kSwizzles) {
            std::vector<uint8_t> values;
            TensorMapDesc map = tensor(MapMode::Tiled, element, kRank, size, values);
            map.swizzle = swizzle;
            map.box = box;
            map.box[0] = (swizzle == Swizzle::None ? 48 : isa::span_bytes(swizzle)) / bytes;
            const auto name = [&](const char* where) {
                return "tiled rank " + std::to_string(kRank) + " element " + std::to_string(bytes) + " swizzle " +
                       swizzle_name(swizzle) + " " + where;
            };
            std::array<int32_t, 5> inside{}, low{}, high{}, outside{};
            for (int axis = 0; axis < kRank; ++axis) {
                const auto extent = static_cast<int32_t>(size[axis]), boxed = static_cast<int32_t>(map.box[axis]);
                inside[axis] = axis == 0 ? 16 / static_cast<int32_t>(bytes) : (extent - boxed) / 2;
                low[axis] = axis == 0 ? -16 / static_cast<int32_t>(bytes) : -1;
                high[axis] = extent - boxed + (axis == 0 ? 16 / static_cast<int32_t>(bytes) : 1);
                outside[axis] = extent;
            }
            add_load<kRank, false>(name("inside"), map, inside);
            add_load<kRank, false>(name("over the lower edges"), map, low);
            add_load<kRank, false>(name("over the upper edges"), map, high);
            add_load<kRank, false>(name("outside"), map, outside);
        }
    }

    void tiled_loads() {
        tiled_rank<2>(Element::U16, {96, 24}, {0, 16});
        tiled_rank<2>(Element::U8, {192, 24}, {0, 16});
        tiled_rank<2>(Element::F32, {48, 24}, {0, 16});
        tiled_rank<3>(Element::BF16, {96, 20, 6}, {0, 9, 3});
        tiled_rank<4>(Element::U16, {96, 9, 7, 3}, {0, 5, 4, 2});
        tiled_rank<5>(Element::U16, {96, 6, 5, 4, 3}, {0, 4, 3, 2, 2});
        std::vector<uint8_t> values;
        TensorMapDesc map = tensor(MapMode::Tiled, Element::U16, 5, {32, 9, 8, 4, 2}, values);
        map.box = {8, 7, 4, 3, 2};
        map.element_stride = {1, 2, 3, 1, 1};
        add_load<5, false>("tiled rank 5 element strides 2 and 3", map, {8, 1, 0, 1, 0});
        std::vector<uint8_t> wide;
        TensorMapDesc halo = tensor(MapMode::Tiled, Element::U16, 4, {64, 20, 14, 2}, wide);
        halo.swizzle = Swizzle::Span128;
        halo.box = {64, 18, 10, 1};
        add_load<4, false>("tiled halo of 18 x 10 pixels at the corner", halo, {0, -1, -1, 1});
    }

    // --- im2col loads ---

    /// One axis of a convolution.
    struct Axis {
        int32_t filter = 1, stride = 1, dilation = 1, front = 0, back = 0;
        int32_t outputs(uint64_t size) const {
            return (static_cast<int32_t>(size) + front + back - (filter - 1) * dilation + stride - 1) / stride;
        }
    };

    /// Three loads of one layer with every swizzle: the last tap from the first output pixel on, the middle tap from a
    /// middle one, and the first tap from the last pixel of the last image, which runs past that image.
    template <int kRank>
    void im2col_layer(const std::string& layer, const std::array<uint64_t, 5>& size, const std::array<Axis, 3>& axes,
                      uint32_t pixels, int32_t channel = 0) {
        for (const Swizzle swizzle : kSwizzles) {
            std::vector<uint8_t> values;
            TensorMapDesc map = tensor(MapMode::Im2col, Element::U16, kRank, size, values);
            map.swizzle = swizzle;
            map.channels_per_pixel = (swizzle == Swizzle::None ? 48 : isa::span_bytes(swizzle)) / 2;
            map.pixels_per_column = pixels;
            for (int axis = 0; axis < kRank - 2; ++axis) {
                map.lower_corner[axis] = -axes[axis].front;
                map.upper_corner[axis] = axes[axis].back - (axes[axis].filter - 1) * axes[axis].dilation;
                map.element_stride[axis + 1] = static_cast<uint32_t>(axes[axis].stride);
            }
            for (int which = 0; which < 3; ++which) {
                std::array<int32_t, 5> base{channel};
                std::array<uint16_t, 3> tap{};
                for (int axis = 0; axis < kRank - 2; ++axis) {
                    const Axis& a = axes[axis];
                    // The base of the first, a middle or the last output on this axis.
                    const int32_t output = which == 0   ? 0
                                           : which == 1 ? a.outputs(size[axis + 1]) / 2
                                                        : a.outputs(size[axis + 1]) - 1;
                    base[axis + 1] = output * a.stride - a.front;
                    const int32_t last = a.filter - 1;
                    tap[axis] = static_cast<uint16_t>((which == 0 ? last : which == 1 ? last / 2 : 0) * a.dilation);
                }
                base[kRank - 1] = which == 2 ? static_cast<int32_t>(size[kRank - 1]) - 1 : 0;
                add_load<kRank, true>(
                    "im2col " + layer + " swizzle " + swizzle_name(swizzle) + " part " + std::to_string(which), map,
                    base, tap);
            }
        }
    }

    void im2col_loads() {
        const Axis same{3, 1, 1, 1, 1}, five{5, 1, 1, 2, 2}, strided{3, 2, 1, 1, 1}, uneven{3, 2, 1, 0, 1};
        const Axis dilated{3, 1, 2, 2, 2}, causal{3, 1, 1, 2, 0}, one{};
        im2col_layer<3>("rank 3, 3 taps", {64, 30, 3}, {same}, 40);
        im2col_layer<4>("rank 4, 3x3", {64, 9, 7, 2}, {same, same}, 64);
        im2col_layer<4>("rank 4, 5x5", {64, 9, 7, 2}, {five, five}, 128);
        im2col_layer<4>("rank 4, 7x1", {96, 5, 11, 2}, {one, Axis{7, 1, 1, 3, 3}}, 37);
        im2col_layer<4>("rank 4, stride 2", {64, 10, 9, 3}, {strided, strided}, 64);
        im2col_layer<4>("rank 4, stride 2, padded after", {64, 10, 9, 3}, {uneven, uneven}, 64);
        im2col_layer<4>("rank 4, dilation 2", {64, 10, 9, 2}, {dilated, dilated}, 64);
        im2col_layer<4>("rank 4, channels 64 to 127 of 96", {96, 9, 7, 2}, {same, same}, 64, 64);
        im2col_layer<4>("rank 4, channels before the first", {64, 9, 7, 2}, {same, same}, 64, -8);
        im2col_layer<4>("rank 4, 300 pixels", {64, 25, 13, 2}, {same, same}, 300);
        im2col_layer<5>("rank 5, causal 3x3x3", {64, 6, 5, 4, 2}, {same, same, causal}, 64);
        im2col_layer<5>("rank 5, temporal taps alone", {64, 6, 5, 4, 2}, {one, one, causal}, 128);
        im2col_layer<5>("rank 5, stride and dilation 2 in time", {64, 6, 5, 9, 1}, {same, same, Axis{3, 2, 2, 2, 1}},
                        128);
        im2col_layer<5>("rank 5, the widest corners", {64, 20, 19, 18, 1},
                        {Axis{31, 1, 1, 16, 14}, Axis{16, 1, 1, 15, 0}, Axis{17, 1, 1, 16, 0}}, 256);
        std::vector<uint8_t> values;
        TensorMapDesc map = tensor(MapMode::Im2col, Element::U16, 4, {64, 9, 7, 2}, values);
        map.lower_corner = {-1, -1};
        map.upper_corner = {-1, -1};
        map.channels_per_pixel = 32;
        map.pixels_per_column = 80;
        add_load<4, true>("im2col from before the first image", map, {0, -1, -1, -1}, {1, 1});
        add_load<4, true>("im2col after the last image", map, {0, -1, -1, 2}, {1, 1});
        add_load<4, true>("im2col offset 255", map, {0, -1, -1, 0}, {255, 0});
    }

    // --- stores ---

    template <int kRank>
    void add_store(const std::string& name, TensorMapDesc map, const std::array<int32_t, 5>& at,
                   std::vector<uint8_t> values) {
        using Kernel = StoreKernel<kRank>;
        map.address = backend_.place(values);
        typename Kernel::Params params{.map = backend_.encode(map), .at = {}, .bytes = isa::box_bytes(map)};
        std::copy_n(at.begin(), kRank, params.at.at);
        CaseResult result{name, {}, backend_.template run<Kernel>(shape_of<Kernel>(), params)};
        if (result.trouble.empty()) backend_.fetch(values);
        result.bytes = std::move(values);
        results_.push_back(std::move(result));
    }

    void stores() {
        for (const Swizzle swizzle : kSwizzles) {
            const uint32_t width = (swizzle == Swizzle::None ? 48 : isa::span_bytes(swizzle)) / 2;
            const auto name = [&](const char* what) { return std::string(what) + " swizzle " + swizzle_name(swizzle); };
            const auto map = [&](uint32_t rank, const std::array<uint64_t, 5>& size, std::array<uint32_t, 5> box,
                                 std::vector<uint8_t>& values) {
                TensorMapDesc desc = tensor(MapMode::Tiled, Element::U16, rank, size, values);
                desc.swizzle = swizzle;
                box[0] = width;
                desc.box = box;
                return desc;
            };
            std::vector<uint8_t> values;
            const TensorMapDesc two = map(2, {96, 24}, {0, 16}, values);
            add_store<2>(name("store rank 2"), two, {8, 3}, values);
            add_store<2>(name("store rank 2 over both upper edges"), two, {88, 15}, values);
            add_store<2>(name("store rank 2 outside"), two, {96, 24}, values);
            const TensorMapDesc four = map(4, {96, 9, 7, 3}, {0, 5, 4, 2}, values);
            add_store<4>(name("store rank 4 over its upper edges"), four, {88, 6, 5, 2}, values);
            const TensorMapDesc five = map(5, {96, 6, 5, 4, 3}, {0, 4, 3, 2, 2}, values);
            add_store<5>(name("store rank 5"), five, {0, 1, 1, 1, 1}, values);
        }
    }

    // --- multicast ---

    template <int kRank>
    void add_multicast(const std::string& name, const TensorMapDesc& map, const std::array<int32_t, 5>& at,
                       const std::array<uint16_t, 3>& tap, int32_t step, uint32_t size, uint32_t ranks) {
        using Kernel = MulticastKernel<kRank>;
        typename Kernel::Params params{.map = backend_.encode(map),
                                       .at = {},
                                       .tap = {},
                                       .step = step,
                                       .bytes = isa::box_bytes(map),
                                       .ranks = ranks,
                                       .out = nullptr};
        std::copy_n(at.begin(), kRank, params.at.at);
        std::copy_n(tap.begin(), std::size(params.tap.at), params.tap.at);
        add<Kernel>(name, shape_of<Kernel>(size), params, size * size * params.bytes);
    }

    void multicasts() {
        for (const uint32_t size : {2u, 4u}) {
            for (const uint32_t ranks : {0b1111u, 0b0001u, 0b1010u, 0b0110u}) {
                if (size == 2 && ranks == 0b0110u) continue;
                const uint32_t named = ranks & ((1u << size) - 1);
                const std::string who = " in " + std::to_string(size) + " CTAs, mask " + std::to_string(named);
                std::vector<uint8_t> values;
                TensorMapDesc map = tensor(MapMode::Tiled, Element::U16, 2, {64, 64}, values);
                map.swizzle = Swizzle::Span128;
                map.box = {64, 16};
                add_multicast<2>("multicast tiled" + who, map, {0, 0}, {}, 16, size, named);
                TensorMapDesc frames = tensor(MapMode::Im2col, Element::U16, 4, {64, 9, 7, 4}, values);
                frames.lower_corner = frames.upper_corner = {-1, -1};
                frames.swizzle = Swizzle::Span128;
                frames.channels_per_pixel = 64;
                frames.pixels_per_column = 32;
                add_multicast<4>("multicast im2col rank 4" + who, frames, {0, -1, 0, 0}, {1, 2}, 2, size, named);
                TensorMapDesc volume = tensor(MapMode::Im2col, Element::U16, 5, {64, 9, 5, 4, 2}, values);
                volume.lower_corner = {-1, -1, -2};
                volume.upper_corner = {-1, -1, -2};
                volume.swizzle = Swizzle::Span64;
                volume.channels_per_pixel = 32;
                volume.pixels_per_column = 64;
                add_multicast<5>("multicast im2col rank 5" + who, volume, {32, 0, -1, -2, 0}, {0, 1, 2}, 2, size,
                                 named);
            }
        }
    }

    // --- threads, clusters, barriers, registers ---

    void threads_and_barriers() {
        add<BarrierKernel>("mbarrier", shape_of<BarrierKernel>(2), {}, 2 * 16 * 4);
        for (const auto& [x, y, z] : std::initializer_list<std::array<uint32_t, 3>>{
                 {1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 2, 1}, {4, 1, 1}, {2, 2, 2}}) {
            LaunchShape shape = shape_of<ClusterKernel>();
            const uint32_t cluster[3] = {x, y, z};
            for (int axis = 0; axis < 3; ++axis) {
                shape.cluster[axis] = cluster[axis];
                shape.grid[axis] = 2 * cluster[axis];
            }
            add<ClusterKernel>("cluster " + std::to_string(x) + " x " + std::to_string(y) + " x " + std::to_string(z),
                               shape, {}, 8 * x * y * z * 8 * 4);
        }
        add<ExchangeKernel>("exchange between CTAs, launched with __cluster_dims__ and the attribute",
                            shape_of<ExchangeKernel>(ExchangeKernel::kCluster), {}, 2 * ExchangeKernel::kThreads * 4);
        add<WarpsKernel>("warps: elect, shfl, named barriers", shape_of<WarpsKernel>(), {}, 4 * 4 * 4);
        LaunchShape registers = shape_of<RegistersKernel>();
        registers.registers = 168;
        add<RegistersKernel>("setmaxnreg", registers, {}, RegistersKernel::kThreads * 4);
    }

    // --- wgmma ---

    template <int kN, Element kElement, bool kARegisters, Swizzle kSwizzle>
    void product(const std::string& name, uint32_t pitch, uint32_t shift) {
        using Kernel = WgmmaKernel<kN, kElement, kARegisters, kSwizzle>;
        add<Kernel>("wgmma m64n" + std::to_string(kN) + "k16 " + (kElement == Element::BF16 ? "bf16 " : "fp16 ") +
                        name + " swizzle " + swizzle_name(kSwizzle) + " pitch " + std::to_string(pitch) + " shift " +
                        std::to_string(shift),
                    shape_of<Kernel>(), {.pitch = pitch, .shift = shift, .out = nullptr},
                    Kernel::kThreads * kN / 2 * 4);
    }
    template <int kN, Swizzle kSwizzle>
    void products_of() {
        product<kN, Element::BF16, false, kSwizzle>("both from shared memory", 8, 0);
        product<kN, Element::F16, false, kSwizzle>("both from shared memory", 8, 0);
        product<kN, Element::BF16, true, kSwizzle>("A from registers", 8, 0);
    }
    template <Swizzle kSwizzle>
    void products_under() {
        products_of<16, kSwizzle>();
        products_of<64, kSwizzle>();
        products_of<96, kSwizzle>();
        products_of<128, kSwizzle>();
        products_of<192, kSwizzle>();
        products_of<256, kSwizzle>();
        for (const uint32_t pitch : {8u, 9u, 10u, 12u}) {
            for (const uint32_t shift : {1u, 2u, 7u}) {
                product<96, Element::BF16, false, kSwizzle>("halo", pitch, shift);
            }
        }
    }
    void products() {
        products_under<Swizzle::Span32>();
        products_under<Swizzle::Span64>();
        products_under<Swizzle::Span128>();
    }

    // --- everything at once: the conformance GEMMs on integers ---

    template <class Gemm>
    void matrix_product(const std::string& name, uint32_t m, uint32_t n, uint32_t k) {
        const auto matrix = [](uint64_t rows, uint64_t columns, uint64_t salt) {
            std::vector<uint8_t> bytes(rows * columns * 2);
            constexpr uint16_t kNumbers[] = {0xc000, 0xbf80, 0, 0x3f80, 0x4000};  // -2..2 in bf16
            for (uint64_t i = 0; i < rows * columns; ++i) {
                const uint16_t bits = kNumbers[((i * 2654435761u + salt) >> 13) % 5];
                bytes[2 * i] = static_cast<uint8_t>(bits & 0xff);
                bytes[2 * i + 1] = static_cast<uint8_t>(bits >> 8);
            }
            return bytes;
        };
        std::vector<uint8_t> a = matrix(m, k, 1), b = matrix(n, k, 2), d(uint64_t{m} * n * 2, 0xee);
        const auto map = [&](std::vector<uint8_t>& values, uint64_t columns, uint64_t rows, uint32_t box_columns,
                             uint32_t box_rows, Swizzle swizzle) {
            TensorMapDesc desc =
                isa::dense_map(MapMode::Tiled, Element::BF16, backend_.place(values), 2, {columns, rows});
            desc.box = {box_columns, box_rows};
            desc.swizzle = swizzle;
            return backend_.encode(desc);
        };
        using Kernel = GemmKernel<Gemm>;
        typename Kernel::Params params{{.a = map(a, k, m, 64, 128, Swizzle::Span128),
                                        .b = map(b, k, n, 64, Gemm::kBN / Gemm::kCluster, Swizzle::Span128),
                                        .d = map(d, n, m, Gemm::kBN, 64, Swizzle::None),
                                        .k_blocks = (k + 63) / 64}};
        LaunchShape shape = shape_of<Kernel>(Gemm::kCluster);
        shape.grid[0] = (m + 127) / 128;
        shape.grid[0] = (shape.grid[0] + Gemm::kCluster - 1) / Gemm::kCluster * Gemm::kCluster;
        shape.grid[1] = (n + Gemm::kBN - 1) / Gemm::kBN;
        shape.registers = 168;
        CaseResult result{name, {}, backend_.template run<Kernel>(shape, params)};
        if (result.trouble.empty()) backend_.fetch(d);
        result.bytes = std::move(d);
        results_.push_back(std::move(result));
    }
    void matrix_products() {
        matrix_product<conformance::GemmSm90<96, 1, 4>>("gemm 300 x 104 x 200", 300, 104, 200);
        matrix_product<conformance::GemmSm90<192, 2, 3>>("gemm of pairs 400 x 192 x 448", 400, 192, 448);
    }

    Backend& backend_;
    std::vector<CaseResult> results_;
};

}  // namespace kinetograph::gpu_tests
