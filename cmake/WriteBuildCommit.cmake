# Run at every build: cmake -DSOURCE_DIR=... -DOUTPUT=build_commit.cpp -P WriteBuildCommit.cmake. Writes OUTPUT only if
# the commit has changed, so that an unchanged tree builds nothing.
execute_process(COMMAND git -c safe.directory=* describe --always --dirty --abbrev=40 --exclude=*
                WORKING_DIRECTORY "${SOURCE_DIR}" OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE
                ERROR_QUIET RESULT_VARIABLE result)
if(NOT result EQUAL 0 OR commit STREQUAL "")
    set(commit unknown)
endif()
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
#include <kinetograph/tools/kinetograph/build_commit.hpp>

namespace kinetograph::cli {

const std::string_view kBuildCommit = "@commit@";

}  // namespace kinetograph::cli
]])
