#include "wave_run.hpp"

namespace kinetograph::isa::amd {
namespace {

void load_own_kilobyte(const WaveParams& p, LdsPlace lds) {
    load_16_to_lds(p.in(), lds + wave_index() * 1024, lane_bytes() + wave_index() * 1024);
}

TEST(WaveFaults, ALoadToLdsIsReadOnlyAfterItsWait) {
    expect_fault(1, "LDS+0, which buffer_load_dwordx4 lds at wave_faults_test.cpp:", [](const WaveParams& p) {
        const LdsPlace lds = allocate_lds<1024>();
        load_own_kilobyte(p, lds);
        store_16(p.out(), lane_bytes(), read_lds_16(lds, lane_bytes()));
    });
}

TEST(WaveFaults, AWaitThatLeavesOneLoadTooManyIsNoWaitForIt) {
    expect_fault(1, "loads: no s_waitcnt vmcnt has waited for it", [](const WaveParams& p) {
        const LdsPlace lds = allocate_lds<2048>();
        load_16_to_lds(p.in(), lds, lane_bytes());
        load_16_to_lds(p.in(), lds + 1024, lane_bytes());
        wait_vector_memory<2>();
        store_16(p.out(), lane_bytes(), read_lds_16(lds, lane_bytes()));
    });
}

TEST(WaveFaults, WhatAnotherWaveHasLoadedIsReadOnlyAfterItsWait) {
    expect_fault(2, "of wave ", [](const WaveParams& p) {
        const LdsPlace lds = allocate_lds<2048>();
        load_own_kilobyte(p, lds);
        barrier();
        read_lds_16(lds + (1 - wave_index()) * 1024, lane_bytes());
        wait_vector_memory<0>();
    });
}

TEST(WaveFaults, WhatAnotherWaveHasLoadedIsReadOnlyAfterABarrier) {
    WaveRun run(
        [](const WaveParams& p) {
            const LdsPlace lds = allocate_lds<2048>();
            load_own_kilobyte(p, lds);
            wait_vector_memory<0>();
            read_lds_16(lds + (1 - wave_index()) * 1024, lane_bytes());
        },
        2);
    for (uint64_t seed = 0; seed < kWaveSchedules;
         ++seed) {  // either the data is not written yet, or no barrier has passed
        const std::string fault = run.run({.seed = seed}).fault.value_or("no fault");
        EXPECT_TRUE(fault.find("no barrier since that wave waited for it") != std::string::npos ||
                    fault.find("which was never written") != std::string::npos ||
                    fault.find("that wave has not waited for it (vmcnt)") != std::string::npos)
            << fault;
    }
}

TEST(WaveFaults, WrittenLdsReachesOthersOnlyThroughAWait) {
    expect_fault(2, "writes: that wave has not waited for it (lgkmcnt)", [](const WaveParams&) {
        const LdsPlace lds = allocate_lds<512>();
        write_lds_4(lds, lane_index() * 4u + wave_index() * 256, 1u);
        barrier();
        read_lds_4(lds, lane_index() * 4u + (1 - wave_index()) * 256);
    });
}

TEST(WaveFaults, LdsIsOverwrittenOnlyAfterItsReadersHaveWaited) {
    expect_fault(1, "overwrites LDS+0, which ds_read_b128 at wave_faults_test.cpp:", [](const WaveParams& p) {
        const LdsPlace lds = allocate_lds<1024>();
        load_own_kilobyte(p, lds);
        wait_vector_memory<0>();
        read_lds_16(lds, lane_bytes());
        load_own_kilobyte(p, lds);
        wait_vector_memory<0>();
    });
}

TEST(WaveFaults, LdsIsOverwrittenOnlyAfterABarrierThatFollowsItsReaders) {
    expect_fault(2, "waited for it", [](const WaveParams& p) {
        const LdsPlace lds = allocate_lds<2048>();
        load_own_kilobyte(p, lds);
        wait_vector_memory<0>();
        barrier();
        read_lds_16(lds + (1 - wave_index()) * 1024, lane_bytes());
        wait_lds();
        load_own_kilobyte(p, lds);
        wait_vector_memory<0>();
    });
}

TEST(WaveFaults, LdsThatWasNeverWrittenIsNotRead) {
    expect_fault(1, "reads LDS+256, which was never written", [](const WaveParams&) {
        const LdsPlace lds = allocate_lds<1024>();
        write_lds_4(lds, lane_index() * 4u, 1u);
        read_lds_4(lds, lane_index() * 4u + 4u);
    });
}

TEST(WaveFaults, AccessesStayInsideTheWorkgroupsLds) {
    expect_fault(1, "LDS+1024 to 1028 lies outside the workgroup's 1024 bytes of LDS",
                 [](const WaveParams&) { write_lds_4(allocate_lds<1024>(), lane_index() * 4u + 772u, 1u); });
    expect_fault(1, "LDS+16 to 1040 lies outside",
                 [](const WaveParams& p) { load_16_to_lds(p.in(), allocate_lds<1024>() + 16, lane_bytes()); });
}

TEST(WaveFaults, LdsAccessesAreAlignedToTheirSize) {
    expect_fault(1, "LDS+8 of lane 0 is not aligned to 16 bytes",
                 [](const WaveParams&) { write_lds_16(allocate_lds<2048>(), lane_bytes() + 8u, Packed16{}); });
    expect_fault(1, "LDS+8 is not aligned to 16 bytes",
                 [](const WaveParams& p) { load_16_to_lds(p.in(), allocate_lds<2048>() + 8, lane_bytes()); });
}

TEST(WaveFaults, AKernelHasOneAllocationOfLds) {
    expect_fault(1, "the workgroup has 1024 bytes of LDS already", [](const WaveParams&) {
        allocate_lds<1024>();
        allocate_lds<2048>();
    });
}

TEST(WaveFaults, LoadsUnderWayAtTheEndMayLandInTheNextWorkgroup) {
    expect_fault(1, "the wave ends without having waited for this load",
                 [](const WaveParams& p) { load_own_kilobyte(p, allocate_lds<1024>()); });
}

TEST(WaveFaults, TheScalarOffsetIsNotRangeChecked) {
    expect_fault(1, "lane 0 reaches byte 4096 of a buffer of 4096 bytes: foreign memory",
                 [](const WaveParams& p) { load_16(p.in(), lane_bytes(), 4096); });
    expect_fault(1, "soffset 4112 lies beyond the buffer of 4096 bytes",
                 [](const WaveParams& p) { load_16(p.in(), Lanes<uint32_t>(kOutOfRange), 4112); });
}

TEST(WaveFaults, AnAccessDoesNotStraddleTheEndOfItsBuffer) {
    expect_fault(1, "lane 6 straddles the buffer's end: bytes 96 to 112 of 100",
                 [](const WaveParams& p) { store_16(make_buffer(p.output, 100), lane_bytes(), Packed16{}); });
}

TEST(WaveFaults, BufferAccessesAreAlignedToADword) {
    expect_fault(1, "lane 0 accesses byte 2, whose address is not aligned to 4 bytes",
                 [](const WaveParams& p) { load_16(p.in(), lane_bytes() + 2u); });
}

TEST(WaveFaults, ABarrierThatAWaveNeverComesToIsADeadlock) {
    expect_fault(2, "deadlock: wave 1 has ended without coming to the barrier", [](const WaveParams&) {
        if (wave_index() == 0) barrier();
    });
}

TEST(WaveFaults, AnEndlessKernelIsStopped) {
    WaveRun run(
        [](const WaveParams&) {
            const LdsPlace lds = allocate_lds<256>();
            write_lds_4(lds, lane_index() * 4u, 1u);
            while (read_lane(read_lds_4(lds, lane_index() * 4u), 0) == 1) wait_lds();
        },
        1);
    const std::string fault = run.run({.step_limit = 1000}).fault.value_or("");
    EXPECT_NE(fault.find("has not ended after 1000 instructions"), std::string::npos) << fault;
}

TEST(WaveFaults, AMessageNamesWorkgroupWaveInstructionAndLine) {
    uint32_t line = 0;
    static uint32_t* where;
    where = &line;
    WaveRun run(
        [](const WaveParams&) {
            const LdsPlace lds = allocate_lds<256>();
            *where = __LINE__ + 1;
            if (workgroup_index().y == 1 && wave_index() == 1) read_lds_4(lds, lane_index() * 4u);
        },
        2);
    const std::string fault = run.run({.grid = {1, 2, 1}}).fault.value_or("");
    EXPECT_EQ(fault, "workgroup (0,1,0) wave 1, ds_read_b32 at wave_faults_test.cpp:" + std::to_string(line) +
                         ": reads LDS+0, which was never written");
}

TEST(WaveFaults, AFaultStopsAllThreadsOfTheHostAndIsTheFirstWorkgroups) {
    WaveRun run(
        [](const WaveParams&) {
            const LdsPlace lds = allocate_lds<256>();
            if (workgroup_index().x >= 3) read_lds_4(lds, lane_index() * 4u);
        },
        1);
    for (const uint32_t threads : {1u, 4u}) {
        const std::string fault = run.run({.grid = {100, 1, 1}, .threads = threads}).fault.value_or("");
        EXPECT_EQ(fault.find("workgroup (3,0,0) wave 0"), 0u) << fault;
    }
}

TEST(WaveFaults, AWorkgroupIsAWholeNumberOfWaves) {
    const host_model::ModelKernel kernel{"odd", 0, 96, [](const void*) {}};
    EXPECT_EQ(launch_waves(kernel, {}, nullptr).fault.value_or(""),
              "odd: 96 threads; a workgroup has a multiple of 64, at most 1024");
}

TEST(LdsBanks, ReadsThatMeetInABankAreCounted) {
    const auto conflicts = [](WaveBody body) {
        WaveRun run(body, 1);
        return run.run({}).lds_read_conflicts;
    };
    EXPECT_EQ(conflicts([](const WaveParams& p) {
                  const LdsPlace lds = allocate_lds<1024>();
                  load_own_kilobyte(p, lds);
                  wait_vector_memory<0>();
                  read_lds_16(lds, lane_bytes());        // 64 neighbouring chunks: each phase spans all banks
                  read_lds_16(lds, lane_bytes() % 32u);  // two chunks for all lanes: shared
              }),
              0u);
    EXPECT_EQ(conflicts([](const WaveParams& p) {
                  const LdsPlace lds = allocate_lds<16384>();
                  for (uint32_t i = 0; i < 16; ++i) load_16_to_lds(p.in(), lds + i * 1024, lane_bytes());
                  wait_vector_memory<0>();
                  read_lds_16(lds, lane_index() * 256u);  // all lanes of a phase use the same four banks
              }),
              4u * 15);
}

}  // namespace
}  // namespace kinetograph::isa::amd
