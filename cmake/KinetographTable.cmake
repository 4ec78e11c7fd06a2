# Tables from folders: every source of a folder defines one entry, by a function with the file's name.

# kinetograph_table(OUTPUT file NAMESPACE a::b HEADER kinetograph/... TYPE Entry FUNCTION all SOURCES one.cpp two.cpp)
# Writes a source that defines `const std::vector<Entry>& all()`: { one(), two() }, in the order of SOURCES.
function(kinetograph_table)
    cmake_parse_arguments(ARG "" "OUTPUT;NAMESPACE;HEADER;TYPE;FUNCTION" "SOURCES" ${ARGN})
    set(declarations "")
    set(entries "")
    foreach(source IN LISTS ARG_SOURCES)
        cmake_path(GET source STEM entry)
        string(APPEND declarations "${ARG_TYPE} ${entry}();\n")
        string(APPEND entries "        ${entry}(),\n")
    endforeach()
    file(CONFIGURE OUTPUT "${ARG_OUTPUT}" @ONLY CONTENT "#include <@ARG_HEADER@>

namespace @ARG_NAMESPACE@ {

@declarations@
const std::vector<@ARG_TYPE@>& @ARG_FUNCTION@() {
    static const std::vector<@ARG_TYPE@> entries{
@entries@    };
    return entries;
}

}  // namespace @ARG_NAMESPACE@
")
endfunction()
