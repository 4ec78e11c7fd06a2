// Frames of a pass (passes.hpp): gl_WorkGroupID.y is the frame.
struct FrameTable {
    Address input_[32], output_[32];
};
#define FLAT_INDEX (gl_WorkGroupID.x * gl_WorkGroupSize.x + gl_LocalInvocationID.x)
