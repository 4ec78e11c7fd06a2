#include <kinetograph/engine/graph/compilation.hpp>

#include <fmt/ranges.h>
#include <algorithm>

namespace kinetograph::graph {

namespace {

template <class... Args>
void complain(Compilation& c, fmt::format_string<Args...> format, Args&&... args) {
    c.errors.push_back(fmt::format(format, std::forward<Args>(args)...));
}

std::string newest(const Compilation& c, const ResourceNode& resource) {
    if (resource.newest_version == 0) return "nothing writes it at all";
    return fmt::format("newest: version {}, by \"{}\"", resource.newest_version,
                       c.pass(resource.writer_of[resource.newest_version]).name);
}

/// Lanes whose passes can make this kind of access at all.
bool serves(Lane lane, Access access) {
    switch (access) {
        case Access::KernelRead:
        case Access::KernelWrite:
        case Access::HostRead:
        case Access::HostWrite:
            return lane.kind() == LaneKind::Accelerator || lane == Lane::Host;
        case Access::ComputeRead:
        case Access::ComputeWrite:
        case Access::SampledRead:
            return lane == Lane::Graphics || lane == Lane::AsyncCompute;
        case Access::ColorAttachment:
            return lane == Lane::Graphics;
        case Access::TransferRead:
        case Access::TransferWrite:
            return true;
        case Access::Present:
            return lane.is_vulkan();
    }
    return false;
}

template <class Predicate>
std::string lanes_that(const Compilation& c, Predicate&& predicate) {
    std::vector<std::string_view> names;
    for (Lane lane : c.lanes())
        if (predicate(lane)) names.push_back(to_string(lane));
    return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

void check_misuses(Compilation& c) {
    for (const Misuse& misuse : c.frame.misuses()) {
        const std::string who =
            misuse.pass == kNoIndex ? "export_contents()" : fmt::format("pass \"{}\"", c.pass(misuse.pass).name);
        const std::string_view verb = misuse.pass == kNoIndex ? "takes" : misuse.writing ? "writes" : "reads";
        const bool named = misuse.resource < c.frame.resources().size();
        const std::string_view name = named ? std::string_view(c.resource(misuse.resource).name) : "?";
        switch (misuse.kind) {
            case Misuse::Kind::EmptyHandle:
                complain(c, "{} {} {} {} handle that names nothing: it was default-constructed", who, verb,
                         misuse.type == ResourceType::Image ? "an" : "a", to_string(misuse.type));
                break;
            case Misuse::Kind::ForeignHandle:
                complain(c, "{} {} {} {}, but {}: the handle is of another graph, or from before clear()", who, verb,
                         to_string(misuse.type), misuse.resource,
                         misuse.resource < misuse.resources
                             ? fmt::format("resource {} here is {} \"{}\"", misuse.resource,
                                           to_string(c.resource(misuse.resource).type), name)
                             : fmt::format("the graph had {} resources then", misuse.resources));
                break;
            case Misuse::Kind::OutdatedWrite:
                complain(c, "{} writes \"{}\" version {}, which is outdated ({})", who, name, misuse.version,
                         newest(c, c.resource(misuse.resource)));
                break;
            case Misuse::Kind::SecondWrite:
                complain(c, "{} writes \"{}\" twice: one pass makes one version", who, name);
                break;
            case Misuse::Kind::WrongAccess:
                complain(c, "{} {} \"{}\" with access {}, which is a {}", who, verb, name, to_string(misuse.access),
                         is_write(misuse.access) ? "write" : "read");
                break;
        }
    }
}

void check_lanes(Compilation& c) {
    for (const PassNode& pass : c.frame.passes())
        if (!c.present(pass.lane))
            complain(c, "pass \"{}\" runs on lane {}, which is not present (present: {})", pass.name,
                     to_string(pass.lane), lanes_that(c, [&](Lane lane) { return c.present(lane); }));
}

void check_versions(Compilation& c, const Use& use) {
    const std::string& pass = c.pass(use.pass).name;
    const ResourceNode& resource = c.resource(use.resource);
    if (use.other_read_version != kNoIndex)
        complain(c, "pass \"{}\" reads \"{}\" version {} and version {}: one pass sees one version", pass,
                 resource.name, use.other_read_version, use.read_version);
    if (use.read_version == kNoIndex) return;
    const bool transient = resource.kind == ResourceKind::Transient;
    if (use.read_version > resource.newest_version || (transient && use.read_version == 0))
        complain(c, "pass \"{}\" reads \"{}\" version {}, but nothing writes that version ({})", pass, resource.name,
                 use.read_version, newest(c, resource));
    else if (use.writes() && use.read_version != use.written_version - 1)
        complain(c, "pass \"{}\" reads \"{}\" version {} while it writes version {}: it can only continue version {}",
                 pass, resource.name, use.read_version, use.written_version, use.written_version - 1);
}

/// " (AMD Instinct MI355X)": the device of an accelerator's lane or memory, if the topology names it.
std::string of_device(const Compilation& c, bool of_accelerator, std::uint32_t device) {
    const auto& names = c.options.topology.devices;
    return of_accelerator && device < names.size() ? fmt::format(" ({})", names[device]) : std::string();
}
std::string named(const Compilation& c, Lane lane) {
    return fmt::format("{}{}", to_string(lane), of_device(c, lane.kind() == LaneKind::Accelerator, lane.device()));
}
std::string named(const Compilation& c, MemoryDomain domain) {
    const bool shared_or_own = domain.kind() == MemoryKind::Accelerator || domain.kind() == MemoryKind::Shared;
    return fmt::format("{} memory{}", to_string(domain), of_device(c, shared_or_own, domain.device()));
}

void check_reach(Compilation& c, const Use& use) {
    const PassNode& pass = c.pass(use.pass);
    const ResourceNode& resource = c.resource(use.resource);
    const auto reaches = [&](Lane lane) {
        return c.options.topology.reaches[index_of(lane)][index_of(resource.domain)];
    };
    if (c.present(pass.lane) && !reaches(pass.lane))
        complain(c, "pass \"{}\" {} \"{}\" in {}, which lane {} cannot reach (lanes that can: {})", pass.name,
                 use.writes() ? "writes" : "reads", resource.name, named(c, resource.domain), named(c, pass.lane),
                 lanes_that(c, [&](Lane lane) { return c.present(lane) && reaches(lane); }));
    for_each(use.kinds(), [&](Access access) {
        if (!serves(pass.lane, access))
            complain(c, "pass \"{}\" on lane {} uses \"{}\" with access {}, which belongs to lanes {}", pass.name,
                     to_string(pass.lane), resource.name, to_string(access),
                     lanes_that(c, [&](Lane lane) { return serves(lane, access); }));
    });
}

void check_layout(Compilation& c, const Use& use) {
    const PassNode& pass = c.pass(use.pass);
    const ResourceNode& resource = c.resource(use.resource);
    if (resource.type != ResourceType::Image) return;
    if (!pass.lane.is_vulkan())
        complain(c,
                 "pass \"{}\" on lane {} uses image \"{}\": only Vulkan lanes change image layouts; copy to a buffer",
                 pass.name, to_string(pass.lane), resource.name);
    Access one = Access::Present, other = Access::Present;
    bool any = false, two = false;
    for_each(use.kinds(), [&](Access access) {
        if (!any) one = access;
        any = true;
        if (layout_of(access) == layout_of(one)) return;
        other = access;
        two = true;
    });
    if (two)
        complain(c, "pass \"{}\" uses image \"{}\" with access {} and {}: one pass sees an image in one layout",
                 pass.name, resource.name, to_string(one), to_string(other));
}

void check_resources(Compilation& c) {
    for (std::uint32_t r = 0; r < c.frame.resources().size(); ++r) {
        const ResourceNode& resource = c.resource(r);
        const std::string_view verb = resource.kind == ResourceKind::Transient ? "created" : "imported";
        if (resource.bytes == 0)
            complain(c, "{} \"{}\" is {} with zero bytes", to_string(resource.type), resource.name, verb);
        if (resource.alignment == 0 || (resource.alignment & (resource.alignment - 1)) != 0)
            complain(c, "{} \"{}\" is {} with alignment {}, which is not a power of two", to_string(resource.type),
                     resource.name, verb, resource.alignment);
        if (!resource.exported) continue;
        if (resource.exported_version > resource.newest_version)
            complain(c, "\"{}\" is exported as version {}, but nothing writes that version ({})", resource.name,
                     resource.exported_version, newest(c, resource));
        else if (resource.exported_version < resource.newest_version)
            complain(c, "\"{}\" is exported as version {}, but pass \"{}\" overwrites it to make version {}",
                     resource.name, resource.exported_version,
                     c.pass(resource.writer_of[resource.exported_version + 1]).name, resource.exported_version + 1);
    }
}

/// Lanes that share a resource need waits in both directions: one inside an execution, the other into the next one.
void check_hand_overs(Compilation& c) {
    std::vector<std::array<std::uint32_t, kMaxLanes>> user(c.frame.resources().size());  // [resource][lane] -> pass
    for (auto& lanes : user) lanes.fill(kNoIndex);
    std::array<std::array<bool, kMaxLanes>, kMaxLanes> reported{};
    for (const Use& use : c.uses) {
        const Lane lane = c.lane_of(use.pass);
        auto& users = user[use.resource];
        if (users[index_of(lane)] != kNoIndex) continue;
        users[index_of(lane)] = use.pass;
        for (Lane other : c.lanes()) {
            if (other == lane || users[index_of(other)] == kNoIndex || !c.present(lane) || !c.present(other)) continue;
            for (const auto& [waiting, signalling] : {std::pair(lane, other), std::pair(other, lane)}) {
                if (c.pair(waiting, signalling).can_wait || c.relayed(waiting, signalling)) continue;
                if (std::exchange(reported[index_of(waiting)][index_of(signalling)], true)) continue;
                complain(c,
                         "lane {} can wait for lane {} neither directly nor through the host lane, but pass \"{}\" and "
                         "pass \"{}\" share \"{}\"",
                         to_string(waiting), to_string(signalling), c.pass(users[index_of(waiting)]).name,
                         c.pass(users[index_of(signalling)]).name, c.resource(use.resource).name);
            }
        }
    }
}

}  // namespace

void validate(Compilation& c) {
    check_misuses(c);
    check_lanes(c);
    for (const Use& use : c.uses) {
        check_versions(c, use);
        check_reach(c, use);
        check_layout(c, use);
    }
    check_resources(c);
    check_hand_overs(c);
}

}  // namespace kinetograph::graph
