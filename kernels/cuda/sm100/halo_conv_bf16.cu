#include "halo_entry.cuh"

namespace kinetograph::sm100 {

KG_SM100_HALO_BF16_TILES(KG_SM100_HALO_ENTRY)

}  // namespace kinetograph::sm100
