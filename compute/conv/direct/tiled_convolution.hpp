// What the direct back end's two methods (plain sums and Winograd's) share: packed parameters, the tiles of a row, and
// the steps from a tile's sums to the frames.
#pragma once

#include <kinetograph/compute/conv/convolution.hpp>
#include <kinetograph/compute/conv/direct/blocking.hpp>
#include <kinetograph/compute/conv/direct/tile_kernels.hpp>
#include <kinetograph/compute/conv/row_norm.hpp>

#include <memory>
#include <string>
#include <vector>

namespace kinetograph::conv::direct {

constexpr std::int64_t kTileElements = 24 * 16;  ///< sums of the largest tile

class TiledConvolution : public Convolution {
  public:
    Result<void> pack() override;

  protected:
    /// The parameters. They do not depend on the number of frames: convolutions over different numbers of frames share
    /// them.
    struct Packed {
        std::unique_ptr<accel::Memory> memory;
        const std::byte* filter = nullptr;
        const std::byte* zeros = nullptr;  ///< one multiplied pixel of zeros, or of the zero point
        std::vector<float> bias;           ///< [2][k]: the biases, and zeros for problems without
        std::vector<float> factors;        ///< [k], of integer sums; else empty
        /// [rows of taps][k]: what the zero point adds to integer sums; else empty.
        std::vector<std::int32_t> offsets;
        RowNorm norm;
    };
    /// The addresses of one call.
    struct Frames {
        std::vector<const std::byte*> input;
        std::vector<std::byte*> output;
        std::vector<const std::byte*> residual;
        std::vector<std::byte*> normed;
        std::byte* workspace = nullptr;
    };
    /// One row of an output frame. Frames of all samples are counted together: sample * d_out + t.
    struct OutputRow {
        std::int64_t frame = 0, y = 0;
        std::byte* bare = nullptr;  ///< with Norm::Instead, where it is not stored: output_row_bytes() in the workspace
        const std::int32_t* offsets = nullptr;  ///< [k], of integer sums: Packed::offsets of the taps inside the input
    };
    /// Which input columns the tiles of a row read, and which output columns they make.
    struct Columns {
        std::int64_t first_tap = 0;        ///< input column under tap 0 of the first output column
        std::int64_t first = 0, step = 1;  ///< the output columns: first, first + step, ...
        std::int64_t count = 0;
    };

    /// `products` is the problem with the taps of the packed filter, of which a tile adds up `rows_a_tile` rows, and
    /// with the multiplied_element(); `layout` is what the packed filter's layout is called, besides that.
    TiledConvolution(accel::Device& device, const ConvProblem& problem, const ConvProblem& products,
                     std::int64_t rows_a_tile, std::string_view layout, Weights& weights);

    const Packed& packed() const { return *packed_; }
    const Blocking& blocking() const { return blocking_; }
    int threads() const { return threads_; }
    /// Whether rows are widened to float32 before tiles read them.
    bool widens() const { return products_.input.element != problem().input.element; }
    /// Of a part of the workspace that begins with a line of the cache.
    static std::int64_t aligned(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }
    std::int64_t input_row_bytes() const;
    /// Of a row as tiles read it.
    std::int64_t multiplied_row_bytes() const;
    std::int64_t output_row_bytes() const;
    TileKernel kernel(const ChannelBlock& block) const;

    /// All columns of the output.
    Columns all_columns() const;
    /// A tile with everything that the tiles of an output row share; its input rows, filter and sums are not set.
    Tile tile_of_row() const;
    /// Adds up the tile whose first pixel is the one at index `x` of `columns`.
    void run_tile(const TileKernel& tile_kernel, Tile& tile, const Columns& columns, std::int64_t x) const;
    /// Stores the pixels of that tile from its sums.
    void finish_tile(const Frames& frames, const OutputRow& row, const Columns& columns, std::int64_t x,
                     const ChannelBlock& block, const Tile& tile) const;
    /// Called while the row is still in the cache.
    void norm_row(const Frames& frames, const OutputRow& row) const;

  private:
    /// The filter [k][c][q][r][s], with the taps of `products`.
    virtual std::vector<float> product_filter(std::span<const float> filter) const = 0;
    virtual void run(const Frames& frames) const = 0;

    std::uint64_t filter_bytes() const;
    std::uint64_t packed_bytes() const;
    Result<Packed> pack_parameters(const ConvParameters& parameters) const;
    void pack_integers(const ConvParameters& parameters, Packed& packed) const;
    std::byte* address(const Frames& frames, const OutputRow& row) const;
    Result<void> enqueue_checked(accel::Stream& stream, std::string_view pass_name,
                                 const ConvTensors& tensors) const final;

    accel::Device& device_;
    std::string layout_;
    Weights* weights_;                      ///< null after pack()
    std::shared_ptr<const Packed> packed_;  ///< set by pack()
    ConvProblem products_;
    Blocking blocking_;
    int threads_;
};

}  // namespace kinetograph::conv::direct
