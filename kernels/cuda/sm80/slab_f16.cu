#include "slab_entry.cuh"

KG_SM80_SLAB_CONFIGS_F16(KG_SM80_SLAB_ENTRY)
