#include <kinetograph/compute/conv/direct/plane_winograd.hpp>
#include <kinetograph/compute/conv/direct/registers.hpp>
#include <kinetograph/compute/conv/direct/tiled_convolution.hpp>
#include <kinetograph/compute/conv/direct/winograd_transform.hpp>
#include <kinetograph/engine/base/processor.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace kinetograph::conv::direct {
namespace {

// Pixels under a line of a tile, its products, and what they add up to.
constexpr std::int64_t kInputs = 4, kLine = 4, kOutputs = 2;
constexpr std::int64_t kPlaneProducts = kLine * kLine;
constexpr std::int64_t kSumsInCache = 24 << 10;  // bytes of a segment's products: the rest streams past them

using InputRows = std::array<const std::byte*, kInputs>;

/// The functions of plane_loops.inc.
struct PlaneLoops {
    using TransformRows = void(const InputRows& rows, float* products, std::int64_t pitch, std::int64_t count);
    TransformRows *transform_f32, *transform_bf16;
    void (*transform_columns)(const float* row, std::int64_t channels, std::int64_t tiles, float* products,
                              std::int64_t pitch);
    void (*combine)(const float* sums, std::int64_t pitch, std::int64_t channels, std::int64_t tiles, float* outputs,
                    std::int64_t output_pitch);
};

namespace planes_in_avx2 {
#define KINETOGRAPH_REGISTERS Avx2
#define KINETOGRAPH_LOOP KINETOGRAPH_AVX2
#include <kinetograph/compute/conv/direct/plane_loops.inc>
#undef KINETOGRAPH_REGISTERS
#undef KINETOGRAPH_LOOP
}  // namespace planes_in_avx2

namespace planes_in_avx512 {
#define KINETOGRAPH_REGISTERS Avx512
#define KINETOGRAPH_LOOP KINETOGRAPH_AVX512
#include <kinetograph/compute/conv/direct/plane_loops.inc>
#undef KINETOGRAPH_REGISTERS
#undef KINETOGRAPH_LOOP
}  // namespace planes_in_avx512

/// Products of a filter of 1x1 taps: [product][temporal tap] in the place of temporal taps.
ConvProblem plane_products_of(ConvProblem problem) {
    problem.filter.q *= kPlaneProducts;
    problem.filter.r = problem.filter.s = 1;
    problem.input.element = Element::F32;
    return problem;
}

class PlaneWinograd final : public TiledConvolution {
  public:
    PlaneWinograd(accel::Device& device, const ConvProblem& problem, Weights& weights)
        : TiledConvolution(device, problem, plane_products_of(problem), problem.filter.q, "Winograd in planes, blocks",
                           weights),
          taps_(problem.filter.q) {
        for (const ChannelBlock& block : blocking().blocks) {
            pitch_ = std::max(pitch_, block.sums_pitch);
            kernel_tiles_ = std::max<std::int64_t>(kernel_tiles_, kernel(block).pixels);
        }
        const auto whole = [&](std::int64_t bytes, std::int64_t a_tile) {
            return bytes / (kPlaneProducts * a_tile * kFloat) / kernel_tiles_ * kernel_tiles_;
        };
        tiles_ = std::max(kernel_tiles_, std::min(whole(kSumsInCache, pitch_),
                                                  whole(processor().cache_bytes / 2, taps_ * problem.c_in)));
    }

    std::string_view backend() const override { return "winograd-planes-cpu"; }
    std::uint64_t workspace_bytes() const override { return static_cast<std::uint64_t>(threads() * thread_bytes()); }

  private:
    static constexpr std::int64_t kFloat = 4;
    /// A thread's buffers, of a segment: up to tiles_ neighbouring tiles.
    struct Buffers {
        std::byte* zeros = nullptr;               ///< a row of the input's in the padding
        float* rows = nullptr;                    ///< [product of rows][2 tiles + 2][c_in]
        float* transformed = nullptr;             ///< [temporal tap][product][tiles][c_in]
        float* sums = nullptr;                    ///< [product][tiles][channels of a block]
        float* outputs = nullptr;                 ///< [row][kOutputs tiles][channels of a block]
        std::array<std::byte*, kOutputs> bare{};  ///< output rows that are not stored
        std::vector<TapRow> taps;
    };
    /// kOutputs output rows of a frame.
    struct TileRow {
        std::int64_t sample = 0, t = 0, index = 0;
    };
    struct Segment {
        std::int64_t first = 0, count = 0;  ///< tiles
    };

    // ---- a thread's part of the workspace ---------------------------------------------------------------------------

    std::int64_t columns_of(std::int64_t tiles) const { return kOutputs * tiles + kInputs - kOutputs; }
    std::int64_t row_floats() const { return columns_of(tiles_) * problem().c_in + kGap; }
    // A line of the cache between products: their addresses would otherwise fall into the same few sets of it.
    static constexpr std::int64_t kGap = 16;
    std::int64_t transformed_floats() const { return tiles_ * problem().c_in + kGap; }
    /// Kernels write whole groups of tiles.
    std::int64_t product_floats() const { return (tiles_ + kernel_tiles_) * pitch_ + kGap; }
    std::int64_t output_floats() const { return kOutputs * tiles_ * pitch_ + kGap; }
    std::int64_t zeros_bytes() const { return aligned(row_floats() * kFloat); }
    std::int64_t rows_bytes() const { return aligned(kLine * row_floats() * kFloat); }
    std::int64_t transformed_bytes() const { return aligned(taps_ * kPlaneProducts * transformed_floats() * kFloat); }
    std::int64_t sums_bytes() const { return aligned(kPlaneProducts * product_floats() * kFloat); }
    std::int64_t outputs_bytes() const { return aligned(kOutputs * output_floats() * kFloat); }
    std::int64_t bare_bytes() const { return problem().norm == Norm::Instead ? aligned(output_row_bytes()) : 0; }
    std::int64_t thread_bytes() const {
        return zeros_bytes() + rows_bytes() + transformed_bytes() + sums_bytes() + outputs_bytes() +
               kOutputs * bare_bytes();
    }
    Buffers buffers_of(std::byte* own) const {
        const auto next = [&own](std::int64_t bytes) { return std::exchange(own, own + bytes); };
        const auto floats = [&next](std::int64_t bytes) { return reinterpret_cast<float*>(next(bytes)); };
        Buffers buffers;
        buffers.zeros = next(zeros_bytes());
        std::fill_n(buffers.zeros, zeros_bytes(), std::byte{});
        buffers.rows = floats(rows_bytes());
        buffers.transformed = floats(transformed_bytes());
        buffers.sums = floats(sums_bytes());
        buffers.outputs = floats(outputs_bytes());
        for (std::byte*& bare : buffers.bare) bare = next(bare_bytes());
        buffers.taps.reserve(static_cast<std::size_t>(taps_));
        return buffers;
    }

    std::vector<float> product_filter(std::span<const float> filter) const override {
        std::vector<float> folded(filter.size() / 9 * kPlaneProducts);
        const std::int64_t pairs = problem().filter.k * problem().c_in;
        for (std::int64_t pair = 0; pair < pairs; ++pair)
            for (std::int64_t q = 0; q < taps_; ++q) {
                const float* g = filter.data() + (pair * taps_ + q) * 9;
                std::array<std::array<float, kProducts>, 3> lines;
                for (std::size_t r = 0; r < 3; ++r) lines[r] = filter_products(g[3 * r], g[3 * r + 1], g[3 * r + 2]);
                for (std::size_t s = 0; s < kLine; ++s) {
                    const auto column = filter_products(lines[0][s], lines[1][s], lines[2][s]);
                    for (std::size_t r = 0; r < kLine; ++r)
                        folded[(pair * kPlaneProducts + r * kLine + s) * taps_ + q] = column[r];
                }
            }
        return folded;
    }

    void run(const Frames& frames) const override {
        const ConvProblem& p = problem();
        std::vector<Buffers> buffers;
        for (int worker = 0; worker < threads(); ++worker)
            buffers.push_back(buffers_of(frames.workspace + worker * thread_bytes()));
        // A task is the same rows of all frames of a sample.
        const std::int64_t tile_rows = (p.h_out() + kOutputs - 1) / kOutputs;
        for_tasks(p.n * tile_rows, [&](std::int64_t task, int worker) {
            for (std::int64_t t = 0; t < p.d_out(); ++t)
                run_rows(frames, {task / tile_rows, t, task % tile_rows}, buffers[static_cast<std::size_t>(worker)]);
        });
    }

    void run_rows(const Frames& frames, const TileRow& row, Buffers& buffers) const {
        const std::int64_t tiles = (problem().w_out() + kOutputs - 1) / kOutputs;
        for (std::int64_t first = 0; first < tiles; first += tiles_) {
            const Segment segment{first, std::min(tiles_, tiles - first)};
            for (std::int64_t q = 0; q < taps_; ++q) transform(frames, row, segment, q, buffers);
            for (const ChannelBlock& block : blocking().blocks) {
                multiply(row, segment, block, buffers);
                finish(frames, row, segment, block, buffers);
            }
        }
        if (problem().norm == Norm::None) return;
        for_output_rows(row, buffers, [&](const OutputRow& output, std::int64_t) { norm_row(frames, output); });
    }

    bool is_inside(const TileRow& row, std::int64_t q) const {
        const std::int64_t t_in = input_frame(problem(), row.t, q);
        return t_in >= 0 && t_in < problem().d;
    }

    void transform(const Frames& frames, const TileRow& row, const Segment& segment, std::int64_t q,
                   const Buffers& buffers) const {
        if (!is_inside(row, q)) return;
        const ConvProblem& p = problem();
        const std::byte* frame = frames.input[row.sample * p.d + input_frame(p, row.t, q)];
        const std::int64_t begin = segment.first * kOutputs - p.pad.left, columns = columns_of(segment.count);
        const std::int64_t left = std::clamp<std::int64_t>(-begin, 0, columns);
        const std::int64_t right = std::clamp<std::int64_t>(p.w - begin, left, columns);
        InputRows inputs{};
        for (std::int64_t i = 0; i < kInputs; ++i) {
            const std::int64_t y_in = row.index * kOutputs - p.pad.top + i;
            const bool inside = y_in >= 0 && y_in < p.h;
            inputs[i] =
                inside ? frame + y_in * input_row_bytes() + (begin + left) * (input_row_bytes() / p.w) : buffers.zeros;
        }
        for (std::int64_t i = 0; i < kLine; ++i) {
            float* const product = buffers.rows + i * row_floats();
            std::fill_n(product, left * p.c_in, 0.0F);
            std::fill(product + right * p.c_in, product + columns * p.c_in, 0.0F);
        }
        const auto transform_rows = p.input.element == Element::F32 ? loops_.transform_f32 : loops_.transform_bf16;
        transform_rows(inputs, buffers.rows + left * p.c_in, row_floats(), (right - left) * p.c_in);
        for (std::int64_t i = 0; i < kLine; ++i)
            loops_.transform_columns(buffers.rows + i * row_floats(), p.c_in, segment.count,
                                     transformed(buffers, q, i * kLine), transformed_floats());
    }

    float* transformed(const Buffers& buffers, std::int64_t q, std::int64_t product) const {
        return buffers.transformed + (q * kPlaneProducts + product) * transformed_floats();
    }

    void multiply(const TileRow& row, const Segment& segment, const ChannelBlock& block, Buffers& buffers) const {
        const TileKernel tile_kernel = kernel(block);
        const Columns tiles{.count = segment.count};
        Tile tile = tile_of_row();
        tile.width = tiles_;
        for (std::int64_t product = 0; product < kPlaneProducts; ++product) {
            buffers.taps.clear();
            for (std::int64_t q = 0; q < taps_; ++q)
                if (is_inside(row, q))
                    buffers.taps.push_back(
                        {reinterpret_cast<const std::byte*>(transformed(buffers, q, product)),
                         packed().filter + block.filter_offset + (product * taps_ + q) * block.row_bytes});
            tile.rows = buffers.taps.data();
            tile.row_count = std::ssize(buffers.taps);
            tile.sums = buffers.sums + product * product_floats();
            for (std::int64_t x = 0; x < segment.count; x += tile_kernel.pixels) {
                run_tile(tile_kernel, tile, tiles, x);
                tile.sums += tile_kernel.pixels * block.sums_pitch;
            }
        }
    }

    void finish(const Frames& frames, const TileRow& row, const Segment& segment, const ChannelBlock& block,
                const Buffers& buffers) const {
        loops_.combine(buffers.sums, product_floats(), block.sums_pitch, segment.count, buffers.outputs,
                       output_floats());
        const Columns columns = all_columns();
        const std::int64_t x = segment.first * kOutputs;
        for_output_rows(row, buffers, [&](const OutputRow& output, std::int64_t i) {
            Tile tile;
            tile.sums = buffers.outputs + i * output_floats();
            tile.pixels = std::min(segment.count * kOutputs, columns.count - x);
            finish_tile(frames, output, columns, x, block, tile);
        });
    }

    void for_output_rows(const TileRow& row, const Buffers& buffers, const auto& then) const {
        const std::int64_t frame = row.sample * problem().d_out() + row.t, first = row.index * kOutputs;
        for (std::int64_t i = 0; i < std::min(kOutputs, problem().h_out() - first); ++i)
            then(OutputRow{frame, first + i, buffers.bare[i]}, i);
    }

    const PlaneLoops loops_ =
        processor().uses >= InstructionSet::Avx512 ? planes_in_avx512::kLoops : planes_in_avx2::kLoops;
    std::int64_t taps_;              ///< in time
    std::int64_t pitch_ = 0;         ///< of the block that has most channels
    std::int64_t kernel_tiles_ = 0;  ///< that a kernel takes at most
    std::int64_t tiles_ = 0;         ///< of a whole segment
};

}  // namespace

Result<std::unique_ptr<Convolution>> create_plane_winograd(accel::Device& device, const ConvProblem& problem,
                                                           Weights& weights) {
    return std::make_unique<PlaneWinograd>(device, problem, weights);
}

}  // namespace kinetograph::conv::direct
