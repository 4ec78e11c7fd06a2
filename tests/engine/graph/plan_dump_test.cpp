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
  culled [shape=note, style=dotted, label="unused\l"];
}
)");
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
    "unused"
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
