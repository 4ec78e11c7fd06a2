#include <kinetograph/engine/base/tool_range.hpp>

#ifdef KINETOGRAPH_NVTX
#include <nvtx3/nvToolsExt.h>
#endif
#ifdef KINETOGRAPH_ROCTX
#include <roctracer/roctx.h>
#endif
#ifdef KINETOGRAPH_TRACY
#include <tracy/TracyC.h>
#endif

#include <cstring>
#include <string>

namespace kinetograph {

ToolRange::ToolRange(std::string_view name) {
    const std::string text(name);  // null-terminated
#ifdef KINETOGRAPH_NVTX
    nvtxRangePushA(text.c_str());
#endif
#ifdef KINETOGRAPH_ROCTX
    roctxRangePushA(text.c_str());
#endif
#ifdef KINETOGRAPH_TRACY
    TracyCZone(zone, 1);
    TracyCZoneName(zone, text.data(), text.size());
    static_assert(sizeof zone <= sizeof zone_);
    std::memcpy(zone_.data(), &zone, sizeof zone);
#endif
}

ToolRange::~ToolRange() {
#ifdef KINETOGRAPH_TRACY
    TracyCZoneCtx zone;
    std::memcpy(&zone, zone_.data(), sizeof zone);
    TracyCZoneEnd(zone);
#endif
#ifdef KINETOGRAPH_ROCTX
    roctxRangePop();
#endif
#ifdef KINETOGRAPH_NVTX
    nvtxRangePop();
#endif
}

}  // namespace kinetograph
