#include "winograd_entry.cuh"

namespace kinetograph::sm90 {

KG_SM90_WINOGRAD_BF16_TILES(KG_SM90_WINOGRAD_ENTRY)

}  // namespace kinetograph::sm90
