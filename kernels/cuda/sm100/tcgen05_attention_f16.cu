#include "attention_entry.cuh"

namespace kinetograph::sm100 {

KG_SM90_ATTENTION_WIDTHS(KG_SM100_ATTENTION_ENTRY, f16, F16)

}  // namespace kinetograph::sm100
