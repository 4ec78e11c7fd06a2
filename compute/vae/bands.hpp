// Bands: a step that computes the picture in bands of rows: one after the other, so that it needs less memory, or each
// on a device of its own.
//
// After the last attention every value of a pixel depends on a bounded neighbourhood. A step therefore runs whole, on
// small pictures, up to one of its spatial upsamplings. From there on it runs once for each band. A band also reads the
// rows around it that the remaining layers reach; these are computed twice and discarded:
//
//     whole value      band 0        band 1
//     ............     read, made                    read:  rows on which the band computes
//     ............     read, made    read            made:  rows of the picture that it contributes
//     ............     read          read, made
//     ............                   read, made
//
// Each further pass computes on the rows alone that what comes after it reaches, fewer and fewer.
//
// Rows that are made have the bits of the whole picture: their convolutions take the methods of the whole
// (conv::ConvOptions::part_of), in which a row's sums do not depend on how many rows there are.
#pragma once

#include <kinetograph/compute/nn/fusion.hpp>
#include <kinetograph/compute/vae/step_shape.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

namespace kinetograph::vae {

struct Rows {
    std::int64_t first = 0, count = 0;
    friend bool operator==(const Rows&, const Rows&) = default;
};

struct Band {
    Rows made;                  ///< of the value at which the bands begin
    Rows read{};                ///< of that value, by all passes
    std::vector<Rows> reads{};  ///< [pass - cut], rows of its input on which the pass computes
    friend bool operator==(const Band&, const Band&) = default;
};

/// How many spatial upsamplings a network has, each of which is a place where bands may begin.
std::int64_t count_upsamplings(const nn::Network& network);

/// The pass with which bands begin: its input is the last value that is computed whole. Nothing where a step cannot be
/// cut there: a later pass attends to or norms the whole picture, reads a value made before the cut, or stores a sum in
/// its place.
std::optional<std::size_t> find_cut(const std::vector<nn::Pass>& passes, std::int64_t upsampling);

/// The first pass with which bands may begin.
std::optional<std::size_t> first_cut(const nn::Network& network, const std::vector<nn::Pass>& passes);

/// Rows of what a pass makes at whose multiples it begins: the largest blocks in which a device's methods compute. On
/// the CPU and on Hopper Winograd's convolutions make 4 and 2 rows at once, whose bits depend on where they begin.
constexpr std::int64_t block_rows(bool is_host) { return is_host ? 4 : 2; }

/// Makes bands of a value of `height` rows, which the passes from `cut` on read.
class BandCutter {
  public:
    /// `block`: block_rows().
    BandCutter(const std::vector<nn::Pass>& passes, std::size_t cut, std::int64_t height, std::int64_t block);
    /// Into how many parts the value can be divided. They are of half a block, which is doubled next.
    std::int64_t blocks() const { return (height_ + part_ - 1) / part_; }
    Rows rows(std::int64_t begin, std::int64_t end) const;  ///< of these parts
    /// The band that makes these rows.
    Band band(const Rows& made) const;
    /// `count` bands of about equal height, or fewer if a band would have no rows.
    std::vector<Band> bands(std::int64_t count) const;

  private:
    const std::vector<nn::Pass>& passes_;
    std::size_t cut_;
    std::int64_t height_, block_, part_;
    std::vector<std::int64_t> halos_, scales_;  ///< [pass - cut]
};

/// Multiply-adds of the passes before the cut, and of those from it on in a band. `whole` are the step's extents.
double multiply_adds_before(const std::vector<nn::Pass>& passes, std::size_t cut, const std::vector<nn::Extent>& whole);
double multiply_adds(const std::vector<nn::Pass>& passes, std::size_t cut, const std::vector<nn::Extent>& whole,
                     const Band& band);

/// Multiply-adds of the step in those bands, over those of the whole picture.
double work_ratio(const std::vector<nn::Pass>& passes, std::size_t cut, const std::vector<Band>& bands,
                  const std::vector<nn::Extent>& whole);

}  // namespace kinetograph::vae
