#include <kinetograph/engine/ui/layer.hpp>

#include <kinetograph/engine/ui/theme.hpp>

#include <imgui.h>
// The library's back end for GLFW. Its Vulkan back end is never referenced, so it is not linked.
#include <backends/imgui_impl_glfw.h>

#include <algorithm>
#include <cmath>

namespace kinetograph::ui {
namespace {

/// ImGui has one current context; this restores the previous one.
class CurrentContext {
  public:
    explicit CurrentContext(ImGuiContext* context) : outer_(ImGui::GetCurrentContext()) {
        ImGui::SetCurrentContext(context);
    }
    ~CurrentContext() { ImGui::SetCurrentContext(outer_); }
    CurrentContext(const CurrentContext&) = delete;
    CurrentContext& operator=(const CurrentContext&) = delete;

  private:
    ImGuiContext* outer_;
};

}  // namespace

float fitting_scale(float wanted, std::uint32_t width, std::uint32_t height) {
    constexpr float kWidth = 640.0F, kHeight = 360.0F, kSteps = 4.0F;
    const float most = std::min(static_cast<float>(width) / kWidth, static_cast<float>(height) / kHeight);
    return std::min(wanted, std::max(1.0F, std::floor(most * kSteps) / kSteps));
}

Result<std::unique_ptr<Layer>> Layer::create(const vulkan::Device& device, const LayerOptions& options) {
    std::unique_ptr<Layer> layer(new Layer);
    ImGuiContext* outer = ImGui::GetCurrentContext();
    layer->context_ = ImGui::CreateContext();
    ImGui::SetCurrentContext(outer);
    const CurrentContext current(layer->context_);
    layer->scale_ = options.scale;
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.LogFilename = nullptr;
    io.ConfigFlags |= ImGuiConfigFlags_NoMouseCursorChange;
    io.BackendRendererName = "kinetograph";
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    theme::apply(ImGui::GetStyle(), options.scale);
    layer->fonts_ = add_fonts(*io.Fonts, options.scale);
    KG_TRY(layer->renderer_, ImGuiRenderer::create(device, *io.Fonts, options.target));
    // Polls the mouse every frame; callbacks would need this context to be current whenever GLFW calls them.
    if (options.window != nullptr) layer->has_window_ = ImGui_ImplGlfw_InitForVulkan(options.window, false);
    return layer;
}

Layer::~Layer() {
    {
        const CurrentContext current(context_);
        if (has_window_) ImGui_ImplGlfw_Shutdown();
    }
    ImGui::DestroyContext(context_);
}

void Layer::feed(const present::Event& event) {
    const CurrentContext current(context_);
    ImGuiIO& io = ImGui::GetIO();
    if (const auto* scroll = std::get_if<present::ScrollEvent>(&event)) {
        io.MouseWheel += static_cast<float>(scroll->y);
        io.MouseWheelH += static_cast<float>(scroll->x);
    }
    const auto* key = std::get_if<present::KeyEvent>(&event);
    if (key == nullptr) return;
    if (key->key == present::Key::Character) {
        io.AddInputCharacter(key->character);
        if (key->character < 128) pressed_.push_back(static_cast<int>(key->character));
    }
    for (const auto& [ours, imgui] :
         {std::pair(present::Key::Backspace, ImGuiKey_Backspace), std::pair(present::Key::Enter, ImGuiKey_Enter),
          std::pair(present::Key::Escape, ImGuiKey_Escape)})
        if (key->key == ours && io.KeyMap[imgui] >= 0) pressed_.push_back(io.KeyMap[imgui]);
    for (const int index : pressed_) io.KeysDown[index] = true;
}

bool Layer::takes_keys() const {
    const CurrentContext current(context_);
    return ImGui::GetIO().WantTextInput;
}

void Layer::begin_frame(std::uint32_t width, std::uint32_t height, Nanoseconds since_last) {
    outer_ = ImGui::GetCurrentContext();
    ImGui::SetCurrentContext(context_);
    ImGuiIO& io = ImGui::GetIO();
    if (has_window_) ImGui_ImplGlfw_NewFrame();
    // One unit is one pixel here, whatever the window system's units are.
    io.DisplaySize = {static_cast<float>(width), static_cast<float>(height)};
    io.DisplayFramebufferScale = {1.0F, 1.0F};
    io.DeltaTime = std::max(1e-4F, std::chrono::duration<float>(since_last).count());
    ImGui::NewFrame();
}

graph::Image Layer::end_frame(graph::FrameGraph& frame, graph::Image target) {
    ImGui::Render();
    for (const int index : pressed_) ImGui::GetIO().KeysDown[index] = false;
    pressed_.clear();
    const graph::Image drawn = renderer_->declare(frame, "overlay", target, *ImGui::GetDrawData());
    ImGui::SetCurrentContext(outer_);
    return drawn;
}

}  // namespace kinetograph::ui
