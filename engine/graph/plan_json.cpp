#include <kinetograph/engine/graph/plan.hpp>

#include <nlohmann/json.hpp>

namespace kinetograph::graph {

namespace {

using Json = nlohmann::ordered_json;  // keys in the order of this file

std::string_view name(ResourceKind kind) {
    switch (kind) {
        case ResourceKind::Transient:
            return "transient";
        case ResourceKind::Imported:
            return "imported";
    }
    return "?";
}

Json to_json(const Plan& plan, const Barrier& barrier) {
    Json json;
    if (barrier.resource != kNoIndex) json["resource"] = plan.resources[barrier.resource].name;
    if (barrier.aliased != kNoIndex) json["aliased"] = plan.resources[barrier.aliased].name;
    json["before"] = to_string(barrier.before);
    json["after"] = to_string(barrier.after);
    json["from"] = to_string(barrier.from);
    if (barrier.discard) json["discard"] = true;
    return json;
}

Json to_json(const Plan& plan, const Batch& batch) {
    Json json{{"lane", to_string(batch.lane)}, {"ordinal", batch.ordinal}};
    json["waits"] = Json::array();
    for (const Wait& wait : batch.waits)
        json["waits"].push_back({{"lane", to_string(wait.lane)},
                                 {"batch", wait.batch},
                                 {"executions_ago", wait.executions_ago},
                                 {"hand_over_ns", wait.hand_over.count()}});
    json["passes"] = Json::array();
    for (std::uint32_t position : batch.passes) {
        Json pass{{"name", plan.passes[position].name}};
        for (const Barrier& barrier : plan.passes[position].barriers)
            pass["barriers"].push_back(to_json(plan, barrier));
        json["passes"].push_back(std::move(pass));
    }
    return json;
}

Json to_json(const PlannedResource& resource) {
    Json json{{"name", resource.name},
              {"kind", name(resource.kind)},
              {"type", to_string(resource.type)},
              {"domain", to_string(resource.domain)},
              {"bytes", resource.bytes}};
    if (resource.type == ResourceType::Image)
        json["image"] = {{"width", resource.image.width},
                         {"height", resource.image.height},
                         {"format", to_string(resource.image.format)}};
    if (resource.culled) {
        json["culled"] = true;
        return json;
    }
    if (resource.kind == ResourceKind::Transient) json["offset"] = resource.offset;
    json["first_pass"] = resource.first_pass;
    json["last_pass"] = resource.last_pass;
    for (Access use : resource.uses) json["uses"].push_back(to_string(use));
    return json;
}

}  // namespace

std::string Plan::to_json() const {
    Json json;
    json["fingerprint"] = fmt::format("{:016x}{:016x}", fingerprint.high, fingerprint.low);
    json["hand_over_cost_ns"] = hand_over_cost.count();
    json["transient_bytes"] = transient_bytes;
    for (MemoryDomain domain : kDomains)
        if (domain.device() == 0 || arena_bytes[domain.index()] != 0)
            json["arena_bytes"][std::string(to_string(domain))] = arena_bytes[domain.index()];
    json["batches"] = Json::array();
    for (const Batch& batch : batches) json["batches"].push_back(graph::to_json(*this, batch));
    json["resources"] = Json::array();
    for (const PlannedResource& resource : resources) json["resources"].push_back(graph::to_json(resource));
    json["culled"] = Json::array();
    for (const CulledPass& pass : culled) json["culled"].push_back({{"name", pass.name}, {"reason", pass.reason}});
    return json.dump(2, ' ', false, Json::error_handler_t::replace);  // names may be any bytes
}

}  // namespace kinetograph::graph
