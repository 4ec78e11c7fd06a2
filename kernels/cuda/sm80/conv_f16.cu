#include "conv_entry.cuh"

KG_SM80_CONV_CONFIGS_F16(KG_SM80_CONV_ENTRY)
