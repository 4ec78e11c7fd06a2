// ScaleCrossing: a CrossingTest on a stand-in GPU driver, with the stand-in's own kernel.
#pragma once

#include "crossing_fixture.hpp"

#include <kinetograph/tests/standin/standin.hpp>

#include <bit>

namespace kinetograph::interop::testing {

/// In each step the accelerator stores 2 * step + 1 in `kept`, and passes on what `kept` held from the step before:
/// three kernels.
class ScaleCrossing : public CrossingTest {
  protected:
    struct Scale {
        graph::Buffer in, between, kept, out;
    };
    void load_kernel() {
        kernel_ = accelerator_->load("test kernels", standin::placeholder_image())
                      .value()
                      ->kernel("standin_scale_add")
                      .value();
    }
    void release() override {
        CrossingTest::release();
        kernel_.reset();
    }
    std::uint32_t word_of(std::uint32_t step) const override {
        return std::bit_cast<std::uint32_t>(static_cast<float>(step));
    }
    graph::Buffer declare_accelerators(graph::FrameGraph& frame, graph::Buffer filled, graph::Buffer kept) override {
        return frame
            .add_pass<Scale>(
                "scale", graph::Lane::Accelerator,
                [&](graph::PassBuilder& pass, Scale& data) {
                    data.in = pass.read(filled, graph::Access::KernelRead);
                    data.between = pass.create("between", {.bytes = kCrossingBytes}, graph::Access::KernelWrite);
                    data.kept = pass.write(pass.read(kept, graph::Access::KernelRead), graph::Access::KernelWrite);
                    data.out = pass.create("out", kCrossingBuffer, graph::Access::KernelWrite);
                },
                [this](const Scale& data, accel::PassContext& context) {
                    launch(context, context.address(data.in), context.address(data.between), 2.0F, 0.0F);
                    launch(context, context.address(data.kept), context.address(data.out), 1.0F, 0.0F);
                    launch(context, context.address(data.between), context.address(data.kept), 1.0F, 1.0F);
                })
            .out;
    }
    virtual void launch(accel::PassContext& context, const std::byte* in, std::byte* out, float scale, float offset) {
        const standin::ScaleAddParams params{reinterpret_cast<const float*>(in), reinterpret_cast<float*>(out),
                                             kCrossingWords, scale, offset};
        context.stream().launch({.name = context.pass_name(),
                                 .kernel = *kernel_,
                                 .grid = {kCrossingWords / 64},
                                 .block = {64},
                                 .arguments = accel::bytes_of(params)});
    }

    std::shared_ptr<accel::Kernel> kernel_;
};

}  // namespace kinetograph::interop::testing
