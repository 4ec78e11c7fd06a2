// The mean and deviation that undo the normalisation of latents, as a file states them.
#pragma once

#include <kinetograph/compute/families/family.hpp>
#include <kinetograph/engine/base/result.hpp>

#include <map>
#include <string>
#include <string_view>

namespace kinetograph::vae {

/// Reads `latents_mean` and `latents_std`: `z_dim` numbers each, separated by commas, in brackets or not.
/// Returns empty vectors if the metadata has neither. Errors: InvalidArgument, naming `file`: only one of the two, text
/// that is not a list of numbers, the wrong count, a value that is not finite, a deviation that is not above 0.
Result<families::LatentStatistics> statistics_from_metadata(const std::map<std::string, std::string>& metadata,
                                                            std::int64_t z_dim, std::string_view file);

}  // namespace kinetograph::vae
