// Panels: windows over a profile, the library's and the application's own, which it adds, removes and arranges.
#pragma once

#include <kinetograph/engine/profile/profile.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kinetograph::ui {

/// What all panels have in common: the pass that was clicked in any of them, a kept step, and the filter.
struct Selection {
    profile::NameId pass = 0, track = 0;
    profile::PlanId plan = profile::kNoPlan;        ///< what the graph and the memory show; kNoPlan: the newest
    std::shared_ptr<const profile::Spike> spike{};  ///< what the timeline shows instead of the newest spans
    std::string filter{};                           ///< of names, as it was typed into any panel's box
    void select(profile::NameId name, profile::NameId on, profile::PlanId of) {
        pass = name;
        track = on;
        plan = of;
    }
    bool is(profile::NameId name, profile::NameId on) const { return pass != 0 && pass == name && track == on; }
};

struct PanelContext {
    profile::Profile& profile;  ///< to be read only, except for what a user sets: the threshold of spikes
    Selection& selection;
    Nanoseconds now;     ///< host axis; does not advance while the host is frozen
    float scale = 1.0F;  ///< of distances
    std::string_view text(profile::NameId id) const { return profile.text(id); }
};

/// A window's contents. Draws with ImGui into the current window; keeps what it needs between frames.
class Panel {
  public:
    virtual ~Panel() = default;
    virtual std::string_view name() const = 0;  ///< the title of its window too
    virtual void draw(const PanelContext& context) = 0;
};

/// The panels of one ImGui context. draw() goes between NewFrame() and Render() of any context, including the host
/// application's, and changes no style.
class PanelHost {
  public:
    /// With all panels of the library: passes, timeline, pacing, memory, graph, spikes, clips.
    static PanelHost with_all_panels();

    /// Replaces a panel of the same name.
    void add(std::unique_ptr<Panel> panel, bool shown = true);
    /// Returns the panel, or null if there is none of that name.
    std::unique_ptr<Panel> remove(std::string_view name);
    /// ImGui's name for the window of the panel of that name, to dock it or to find it; the bar's is that of
    /// "Profiler". It differs from that of an application's window with the same title.
    static std::string window_name(std::string_view panel);
    void show(std::string_view name, bool shown);
    bool is_shown(std::string_view name) const;
    std::vector<std::string_view> names() const;

    /// In the next picture the shown panels fill this rectangle of pixels below the bar, in two columns, or in one
    /// where two would be too narrow. The last ones are closed if there is no room for all; their boxes in the bar open
    /// them. The bar's button does the same with the rectangle that was given last.
    void arrange(float x, float y, float width, float height);
    /// Draws the shown windows, and a bar with all names and the newest value of every counter. `profile` is updated
    /// here, unless the user has frozen it.
    void draw(profile::Profile& profile, Nanoseconds now, float scale = 1.0F);

    Selection& selection() { return selection_; }
    void freeze(bool frozen) { frozen_ = frozen; }

  private:
    struct Entry {
        std::unique_ptr<Panel> panel;
        bool shown = true;
        bool closed = false;  ///< although shown: there was no room for it
        bool placed = false;  ///< its window takes the following rectangle in the next picture
        float x = 0, y = 0, width = 0, height = 0;
    };
    struct Rectangle {
        float x = 16, y = 16, width = 0, height = 0;
    };
    Entry* find(std::string_view name);
    void place_shown(float top);
    float draw_bar(const PanelContext& context);

    std::vector<Entry> entries_;
    Selection selection_;
    bool frozen_ = false;
    Nanoseconds now_{};
    Rectangle place_;  // as arranged last; the bar is in its corner
    bool is_arranging_ = false, bar_placed_ = true;
};

}  // namespace kinetograph::ui
