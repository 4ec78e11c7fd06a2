#include "handles.hpp"

#include <algorithm>

namespace kinetograph::c {

Nanoseconds nanoseconds(std::uint64_t timeout) {
    constexpr Nanoseconds kLongest = std::chrono::hours(24 * 365);
    return Nanoseconds(std::min(timeout, static_cast<std::uint64_t>(kLongest.count())));
}

Result<CallLimits> limits_of(const kg_stop* stop) {
    if (stop == nullptr) return {};
    KG_TRY(const auto made, find(stop));
    return CallLimits{.until = made->until, .stop = made->source.get_token()};
}

}  // namespace kinetograph::c

using namespace kinetograph;
using namespace kinetograph::c;

kg_result kg_stop_create(kg_instance* instance, uint64_t timeout_ns, kg_stop** stop) {
    return with("kg_stop_create", instance, [&](const auto& made) -> Outcome {
        KG_CHECK(check_given(stop, "stop"));
        std::optional<Nanoseconds> until;
        if (timeout_ns != KG_FOREVER) until = host_now() + nanoseconds(timeout_ns);
        *stop = hand_out<kg_stop>({made.root, until, {}});
        return KG_OK;
    });
}

kg_result kg_stop_request(kg_stop* stop) {
    return with("kg_stop_request", stop, [](auto& made) -> Outcome {
        made.source.request_stop();
        return KG_OK;
    });
}

kg_result kg_stop_destroy(kg_stop* stop) { return destroy("kg_stop_destroy", stop); }
