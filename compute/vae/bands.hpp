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
#include <span>
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
/// cut there: a later pass attends to the whole picture, reads a value made before the cut, or stores a sum in its
/// place.
std::optional<std::size_t> find_cut(const std::vector<nn::Pass>& passes, std::int64_t upsampling);

/// Divides a value of `height` rows, which the passes from `cut` on read, into `count` bands of about equal height, or
/// fewer if a band would have no rows. Passes compute on rows from multiples of four on, for methods that compute in
/// blocks.
std::vector<Band> cut_into_bands(const std::vector<nn::Pass>& passes, std::size_t cut, std::int64_t height,
                                 std::int64_t count);

/// The first pass with which bands may begin.
std::optional<std::size_t> first_cut(const nn::Network& network, const std::vector<nn::Pass>& passes);

/// Divides it into rows for devices that multiply at these `speeds`, of any unit, so that the last of them is done as
/// early as can be: the first device also runs the passes before the cut. `whole` are the step's extents. Where there
/// are too few rows for all devices, the last ones have none. Every kind of a clip's steps takes the same rows: what
/// each keeps, the next reads.
std::vector<Rows> share_rows(const std::vector<nn::Pass>& passes, std::size_t cut, const std::vector<nn::Extent>& whole,
                             std::span<const double> speeds);

/// The bands that make these rows of that value.
std::vector<Band> bands_of(const std::vector<nn::Pass>& passes, std::size_t cut, std::int64_t height,
                           std::span<const Rows> made);

/// Multiply-adds of the step's convolutions in those bands, over those of the whole picture. `whole` are the step's
/// extents.
double work_ratio(const std::vector<nn::Pass>& passes, std::size_t cut, const std::vector<Band>& bands,
                  const std::vector<nn::Extent>& whole);

}  // namespace kinetograph::vae
