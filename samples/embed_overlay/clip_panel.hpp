// ClipPanel: a panel of the application, shown among the profiler's.
#pragma once

#include <kinetograph/compute/stream/frame_source.hpp>
#include <kinetograph/engine/ui/compact_hud.hpp>
#include <kinetograph/engine/ui/panels.hpp>

#include <imgui.h>

class ClipPanel final : public kinetograph::ui::Panel {
  public:
    explicit ClipPanel(const kinetograph::stream::FrameSource& stream) : stream_(stream) {}
    std::string_view name() const override { return "Clip"; }
    void draw(const kinetograph::ui::PanelContext& context) override {
        const kinetograph::stream::SourceFacts& facts = stream_.facts();
        ImGui::Text("%lld frames of %lld x %lld", static_cast<long long>(facts.frames),
                    static_cast<long long>(facts.width), static_cast<long long>(facts.height));
        ImGui::Text("%s", facts.route.c_str());
        const std::string_view pass = context.text(context.selection.pass);  // selected by a click in any panel
        if (!pass.empty()) ImGui::Text("selected: %.*s", static_cast<int>(pass.size()), pass.data());
        kinetograph::ui::draw_compact_hud(context.profile, {.x = 8, .y = 620});  // a shipped application's HUD
    }

  private:
    const kinetograph::stream::FrameSource& stream_;
};
