#include <kinetograph/engine/accel/hip/code_object.hpp>

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace kinetograph::accel::hip {

namespace {

constexpr std::uint16_t kMachineAmdgpu = 224;  // EM_AMDGPU
constexpr std::uint32_t kMetadataNote = 32;    // NT_AMDGPU_METADATA
constexpr std::string_view kNoteOwner{"AMDGPU\0", 7};

template <class T>
bool read(std::span<const std::byte> image, std::uint64_t offset, T& value) {
    if (offset > image.size() || image.size() - offset < sizeof(T)) return false;
    std::memcpy(&value, image.data() + offset, sizeof(T));
    return true;
}

/// The metadata's MessagePack bytes within one note segment; empty where it has none.
std::span<const std::byte> find_metadata(std::span<const std::byte> notes) {
    const auto padded = [](std::uint64_t bytes) { return (bytes + 3) / 4 * 4; };
    Elf64_Nhdr note;
    for (std::uint64_t at = 0; read(notes, at, note);) {
        const std::uint64_t name = at + sizeof(note), content = name + padded(note.n_namesz);
        if (content > notes.size() || notes.size() - content < note.n_descsz) return {};
        const std::string_view owner(reinterpret_cast<const char*>(notes.data() + name), note.n_namesz);
        if (note.n_type == kMetadataNote && owner == kNoteOwner) return notes.subspan(content, note.n_descsz);
        at = content + padded(note.n_descsz);
    }
    return {};
}

/// Bytes up to the end of the last parameter that is not hidden.
std::uint32_t argument_bytes(const nlohmann::json& kernel) {
    std::uint32_t end = 0;
    if (!kernel.contains(".args")) return end;
    for (const nlohmann::json& argument : kernel.at(".args")) {
        if (argument.at(".value_kind").get<std::string>().starts_with("hidden_")) continue;
        end = std::max(end, argument.at(".offset").get<std::uint32_t>() + argument.at(".size").get<std::uint32_t>());
    }
    return end;
}

CodeObjectKernel to_kernel(const nlohmann::json& kernel) {
    return {.name = kernel.at(".name").get<std::string>(),
            .argument_bytes = argument_bytes(kernel),
            .max_threads = kernel.value(".max_flat_workgroup_size", 0U),
            .shared_bytes = kernel.value(".group_segment_fixed_size", 0U),
            .scratch_bytes = kernel.value(".private_segment_fixed_size", 0U),
            .vgprs = kernel.value(".vgpr_count", 0U),
            .agprs = kernel.value(".agpr_count", 0U),
            .spilled_vgprs = kernel.value(".vgpr_spill_count", 0U),
            .spilled_sgprs = kernel.value(".sgpr_spill_count", 0U)};
}

Result<CodeObject> to_code_object(std::span<const std::byte> metadata) try {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(metadata.data());
    const auto root = nlohmann::json::from_msgpack(bytes, bytes + metadata.size());
    CodeObject object;
    object.target = root.value("amdhsa.target", "");
    const std::string triple = object.target.substr(0, object.target.find(':'));  // without ":xnack-" and the like
    object.architecture = triple.substr(triple.rfind('-') + 1);
    for (const nlohmann::json& kernel : root.at("amdhsa.kernels")) object.kernels.push_back(to_kernel(kernel));
    return object;
} catch (const nlohmann::json::exception& exception) {
    return fail(ErrorCode::Corrupt, "the code object's metadata cannot be read: {}", exception.what());
}

}  // namespace

const CodeObjectKernel* CodeObject::find(std::string_view name) const {
    const auto found = std::ranges::find(kernels, name, &CodeObjectKernel::name);
    return found == kernels.end() ? nullptr : &*found;
}

Result<std::optional<CodeObject>> read_code_object(std::span<const std::byte> image) {
    Elf64_Ehdr header;
    if (!read(image, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachineAmdgpu)
        return std::optional<CodeObject>();
    for (std::uint32_t i = 0; i < header.e_phnum; ++i) {
        Elf64_Phdr segment;
        if (!read(image, header.e_phoff + std::uint64_t{i} * header.e_phentsize, segment) ||
            segment.p_offset > image.size() || image.size() - segment.p_offset < segment.p_filesz)
            return fail(ErrorCode::Corrupt, "the code object's segment {} lies outside of its {} bytes", i,
                        image.size());
        if (segment.p_type != PT_NOTE) continue;
        const auto metadata = find_metadata(image.subspan(segment.p_offset, segment.p_filesz));
        if (metadata.empty()) continue;
        KG_TRY(auto object, to_code_object(metadata));
        return std::optional(std::move(object));
    }
    return fail(ErrorCode::Corrupt, "the code object has no AMDGPU metadata");
}

}  // namespace kinetograph::accel::hip
