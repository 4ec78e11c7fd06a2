#include <kinetograph/compute/conv/direct/tiled_convolution.hpp>
#include <kinetograph/compute/conv/direct/winograd.hpp>
#include <kinetograph/compute/conv/direct/winograd_transform.hpp>
#include <kinetograph/engine/base/workers.hpp>

#include <algorithm>
#include <array>

namespace kinetograph::conv::direct {
namespace {

constexpr std::int64_t kMaxWinogradRows =
    16;  // output rows that a thread takes at a time: two more are transformed for them
// Tiles whose sums wait for the next product: the filter of a product is read once for all of them, and the sums of
// both frames are 48 KiB of the second-level cache.
constexpr std::int64_t kTilesAProduct = 16;

/// The problem with a filter of four products instead of three temporal taps.
ConvProblem products_of(ConvProblem problem) {
    problem.filter.q = kProducts;
    problem.input.element = multiplied_element(problem.input.element, problem.c_in);
    return problem;
}

class WinogradConvolution final : public TiledConvolution {
  public:
    WinogradConvolution(accel::Device& device, const ConvProblem& problem, Weights& weights)
        : TiledConvolution(device, problem, products_of(problem), problem.filter.r, "Winograd along time, blocks",
                           weights),
          rows_a_task_(std::clamp<std::int64_t>(problem.n * problem.h_out() / (8 * threads()), 1, kMaxWinogradRows)) {}

    std::string_view backend() const override { return "winograd-time-cpu"; }
    std::uint64_t workspace_bytes() const override { return static_cast<std::uint64_t>(threads() * thread_bytes()); }

  private:
    /// Two output frames of a sample, and the four input frames under them; null in the padding.
    struct Pair {
        std::int64_t first = 0;  ///< index among all samples' output frames
        std::int64_t count = 0;  ///< 1: there is no second one
        std::array<const std::byte*, 4> input{};
    };
    /// A thread's buffers.
    struct Buffers {
        std::byte* transformed = nullptr;  ///< [input row % R][product][w][c_in]
        float* sums = nullptr;             ///< [frame of the pair][tile][kTileElements]
        std::array<std::byte*, 2> bare{};  ///< output rows of a pair that are not stored
        std::array<std::vector<TapRow>, kProducts> taps;
    };

    std::int64_t transformed_bytes() const { return problem().filter.r * kProducts * aligned(multiplied_row_bytes()); }
    static constexpr std::int64_t kSumsBytes = 2 * kTilesAProduct * kTileElements * 4;
    std::int64_t bare_bytes() const { return problem().norm == Norm::Instead ? aligned(output_row_bytes()) : 0; }
    std::int64_t thread_bytes() const { return transformed_bytes() + kSumsBytes + 2 * bare_bytes(); }

    Buffers buffers_of(std::byte* own) const {
        std::byte* bare = own + transformed_bytes() + kSumsBytes;
        return {own, reinterpret_cast<float*>(own + transformed_bytes()), {bare, bare + bare_bytes()}, {}};
    }

    std::vector<float> product_filter(std::span<const float> filter) const override {
        const Filter& f = problem().filter;
        const std::int64_t taps = f.r * f.s, channels = problem().c_in * f.k;
        std::vector<float> folded(channels * kProducts * taps);
        for (std::int64_t channel = 0; channel < channels; ++channel) {
            const float* g = filter.data() + channel * 3 * taps;
            float* to = folded.data() + channel * kProducts * taps;
            for (std::int64_t i = 0; i < taps; ++i) {
                const auto products = filter_products(g[i], g[taps + i], g[2 * taps + i]);
                for (std::size_t product = 0; product < products.size(); ++product)
                    to[product * taps + i] = products[product];
            }
        }
        return folded;
    }

    void run(const Frames& frames) const override {
        const ConvProblem& p = problem();
        std::vector<Buffers> buffers;
        for (int worker = 0; worker < threads(); ++worker)
            buffers.push_back(buffers_of(frames.workspace + worker * thread_bytes()));
        // A task is the same rows of all pairs of a sample.
        const std::int64_t tasks = (p.h_out() + rows_a_task_ - 1) / rows_a_task_;
        for_tasks(p.n * tasks, [&](std::int64_t task, int worker) {
            const std::int64_t first = task % tasks * rows_a_task_;
            const std::int64_t last = std::min(first + rows_a_task_, p.h_out());
            for (std::int64_t t = 0; t < p.d_out(); t += 2)
                run_rows(frames, pair_at(frames, task / tasks, t), first, last,
                         buffers[static_cast<std::size_t>(worker)]);
        });
    }

    Pair pair_at(const Frames& frames, std::int64_t sample, std::int64_t t) const {
        const ConvProblem& p = problem();
        Pair pair{sample * p.d_out() + t, std::min<std::int64_t>(2, p.d_out() - t), {}};
        for (std::int64_t i = 0; i < 4; ++i) {
            const std::int64_t t_in = input_frame(p, t, i);
            if (t_in >= 0 && t_in < p.d) pair.input[i] = frames.input[sample * p.d + t_in];
        }
        return pair;
    }

    /// Output rows [first, last) of a pair. An input row is transformed when the first output row reaches it, into a
    /// ring of R rows: it overwrites the row that the output rows have passed.
    void run_rows(const Frames& frames, const Pair& pair, std::int64_t first, std::int64_t last,
                  Buffers& buffers) const {
        const ConvProblem& p = problem();
        std::int64_t next = std::max<std::int64_t>(0, first - p.pad.top);
        for (std::int64_t y = first; y < last; ++y) {
            for (; next < std::min(p.h, y - p.pad.top + p.filter.r); ++next) transform_row(pair, next, buffers);
            for (const ChannelBlock& block : blocking().blocks) run_row(frames, pair, y, block, buffers);
            if (p.norm == Norm::None) continue;
            for (std::int64_t i = 0; i < pair.count; ++i) norm_row(frames, {pair.first + i, y, buffers.bare[i]});
        }
    }

    std::byte* transformed_row(const Buffers& buffers, std::int64_t y_in, std::int64_t product) const {
        return buffers.transformed +
               (y_in % problem().filter.r * kProducts + product) * aligned(multiplied_row_bytes());
    }

    void transform_row(const Pair& pair, std::int64_t y_in, const Buffers& buffers) const {
        FrameRows rows{.elements = problem().w * problem().c_in};
        for (std::int64_t i = 0; i < 4; ++i) {
            rows.input[i] = pair.input[i] == nullptr ? nullptr : pair.input[i] + y_in * input_row_bytes();
            rows.output[i] = transformed_row(buffers, y_in, i);
        }
        transform_frames(rows, problem().input.element, widens());
    }

    /// One output row of both frames, product by product over a few tiles at a time.
    void run_row(const Frames& frames, const Pair& pair, std::int64_t y, const ChannelBlock& block,
                 Buffers& buffers) const {
        const TileKernel tile_kernel = kernel(block);
        std::array<Tile, kProducts> tiles;
        for (std::int64_t i = 0; i < kProducts; ++i) tiles[i] = tile_over(y, block, i, buffers);
        tiles[kFirst].add = tiles[kSecond].add = true;
        const std::int64_t step = kTilesAProduct * tile_kernel.pixels;
        for (std::int64_t x = 0; x < problem().w_out(); x += step) {
            const std::int64_t end = std::min(x + step, problem().w_out());
            run_products(frames, pair, y, x, end, block, tiles, buffers);
        }
    }

    /// Output columns [first, last), at most kTilesAProduct tiles.
    void run_products(const Frames& frames, const Pair& pair, std::int64_t y, std::int64_t first, std::int64_t last,
                      const ChannelBlock& block, std::array<Tile, kProducts>& tiles, const Buffers& buffers) const {
        const TileKernel tile_kernel = kernel(block);
        const Columns columns = all_columns();
        const std::int64_t tile_sums = tile_kernel.pixels * block.sums_pitch;
        float* second = buffers.sums + kTilesAProduct * kTileElements;
        const auto for_tiles = [&](Product product, float* sums, const auto& then) {
            Tile& tile = tiles[product];
            tile.sums = sums;
            for (std::int64_t x = first; x < last; x += tile_kernel.pixels, tile.sums += kTileElements) {
                run_tile(tile_kernel, tile, columns, x);
                then(x, tile);
            }
        };
        const auto finish = [&](std::int64_t frame) {
            return [&, row = OutputRow{pair.first + frame, y, buffers.bare[frame]}](std::int64_t x, const Tile& tile) {
                finish_tile(frames, row, columns, x, block, tile);
            };
        };
        for_tiles(kSum, buffers.sums, [](std::int64_t, const Tile&) {});
        for_tiles(kDifference, second, [&](std::int64_t, const Tile& tile) {
            combine_products(buffers.sums + (tile.sums - second), tile.sums, tile_sums);
        });
        for_tiles(kFirst, buffers.sums, finish(0));
        if (pair.count == 2) for_tiles(kSecond, second, finish(1));
    }

    /// The tile of an output row in one product, over the transformed rows that are inside the input.
    Tile tile_over(std::int64_t y, const ChannelBlock& block, std::int64_t product, Buffers& buffers) const {
        const ConvProblem& p = problem();
        std::vector<TapRow>& taps = buffers.taps[product];
        taps.clear();
        for (std::int64_t r = 0; r < p.filter.r; ++r) {
            const std::int64_t y_in = y - p.pad.top + r;
            if (y_in < 0 || y_in >= p.h) continue;
            taps.push_back({transformed_row(buffers, y_in, product),
                            packed().filter + block.filter_offset + (product * p.filter.r + r) * block.row_bytes});
        }
        Tile tile = tile_of_row();
        tile.rows = taps.data();
        tile.row_count = static_cast<std::int64_t>(taps.size());
        return tile;
    }

    std::int64_t rows_a_task_;
};

}  // namespace

Result<std::unique_ptr<Convolution>> create_winograd(accel::Device& device, const ConvProblem& problem,
                                                     Weights& weights) {
    return std::make_unique<WinogradConvolution>(device, problem, weights);
}

}  // namespace kinetograph::conv::direct
