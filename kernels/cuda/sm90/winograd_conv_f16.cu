#include "winograd_entry.cuh"

namespace kinetograph::sm90 {

KG_SM90_WINOGRAD_F16_TILES(KG_SM90_WINOGRAD_ENTRY)

}  // namespace kinetograph::sm90
