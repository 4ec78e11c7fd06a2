#include "attention_entry.cuh"

namespace kinetograph::sm90 {

KG_SM90_ATTENTION_WIDTHS(KG_SM90_ATTENTION_ENTRY, f16, F16)

}  // namespace kinetograph::sm90
