#include "halo_entry.cuh"

namespace kinetograph::sm100 {

KG_SM100_HALO_F16_TILES(KG_SM100_HALO_ENTRY)

}  // namespace kinetograph::sm100
