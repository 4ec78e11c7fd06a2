#include <gtest/gtest.h>

#include "scene.hpp"

namespace kinetograph::graph {
namespace {

Plan small_plan() {
    Scene scene;
    const Buffer a = scene.make("conv \"1\"", Lane::Accelerator);
    scene.make("unused", Lane::Accelerator, {a});
    scene.consume("show", Lane::Graphics, {a});
    return compile(scene.frame).value();
}

TEST(PlanDump, GraphvizShowsLanesBatchesWaitsAndBytes) {
    EXPECT_EQ(small_plan().to_graphviz(), R"(digraph plan {
  rankdir=LR;
  node [shape=box, fontname="monospace"];
  subgraph cluster_graphics {
    label="graphics";
    graphics_0 [label="show"];
  }
  subgraph cluster_accelerator {
    label="accelerator";
    accelerator_0 [label="conv \"1\""];
  }
  graphics_0 -> accelerator_0 [style=dashed, color=gray, constraint=false, label="1 ago"];
  accelerator_0 -> graphics_0 [style=dashed, label="50 us"];
  arenas [shape=note, label="conv \"1\".out [0, 1024) of shared, passes 0-1\l"];
  culled [shape=note, style=dotted, label="unused: nothing reads \"unused.out\"\l"];
}
)");
}

TEST(PlanDump, NamesASecondAcceleratorsLaneAndMemory) {
    Scene scene;
    scene.frame.export_contents(
        scene.pass("conv", Lane::accelerator(1), {.creates = {"conv.out"}, .domain = MemoryDomain::accelerator(1)})
            .front());
    const Plan plan = compile(scene.frame, {.topology = LaneTopology::all(2)}).value();
    const std::string graphviz = plan.to_graphviz(), json = plan.to_json();
    EXPECT_NE(graphviz.find("subgraph cluster_accelerator1 {"), std::string::npos) << graphviz;
    EXPECT_NE(graphviz.find("conv.out [0, 1024) of accelerator1"), std::string::npos) << graphviz;
    EXPECT_NE(json.find("\"lane\": \"accelerator1\""), std::string::npos) << json;
    EXPECT_NE(json.find("\"accelerator1\": 1024"), std::string::npos) << json;
}

TEST(PlanDump, JsonHoldsTheWholePlan) {
    const std::string json = small_plan().to_json();
    const std::size_t after_fingerprint = json.find("  \"hand_over_cost_ns\"");
    ASSERT_NE(after_fingerprint, std::string::npos);
    EXPECT_EQ(json.substr(after_fingerprint), R"(  "hand_over_cost_ns": 50000,
  "transient_bytes": 1024,
  "arena_bytes": {
    "graphics": 0,
    "accelerator": 0,
    "shared": 1024,
    "host": 0
  },
  "batches": [
    {
      "lane": "accelerator",
      "ordinal": 0,
      "waits": [
        {
          "lane": "graphics",
          "batch": 0,
          "executions_ago": 1,
          "hand_over_ns": 50000
        }
      ],
      "passes": [
        {
          "name": "conv \"1\""
        }
      ]
    },
    {
      "lane": "graphics",
      "ordinal": 0,
      "waits": [
        {
          "lane": "accelerator",
          "batch": 0,
          "executions_ago": 0,
          "hand_over_ns": 50000
        }
      ],
      "passes": [
        {
          "name": "show"
        }
      ]
    }
  ],
  "resources": [
    {
      "name": "conv \"1\".out",
      "kind": "transient",
      "type": "buffer",
      "domain": "shared",
      "bytes": 1024,
      "offset": 0,
      "first_pass": 0,
      "last_pass": 1,
      "uses": [
        "kernel_write",
        "compute_read"
      ]
    },
    {
      "name": "unused.out",
      "kind": "transient",
      "type": "buffer",
      "domain": "shared",
      "bytes": 1024,
      "culled": true
    }
  ],
  "culled": [
    {
      "name": "unused",
      "reason": "nothing reads \"unused.out\""
    }
  ]
})");
}

TEST(PlanDump, AnyBytesMayStandInAName) {
    Scene scene;
    scene.consume("latin \xe9", Lane::Host, {});
    EXPECT_NE(compile(scene.frame).value().to_json().find("latin "), std::string::npos);
}

}  // namespace
}  // namespace kinetograph::graph
