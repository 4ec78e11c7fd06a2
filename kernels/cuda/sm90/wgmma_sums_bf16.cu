#include "conv_entry.cuh"

namespace kinetograph::sm90 {

KG_SM90_SUM_TILES(KG_SM90_SUM_ENTRY)

}  // namespace kinetograph::sm90
