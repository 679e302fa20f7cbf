# The generic part of an FMU, and add_fmu() which makes FMUs from it. Used with include().

include_guard(GLOBAL)

# The interpreter whose FMPy has the FMI headers: -DPython_EXECUTABLE, else the one in .venv, else the first in PATH.
set(venv_python ${CMAKE_CURRENT_LIST_DIR}/../../../.venv/bin/python)
if(NOT Python_EXECUTABLE AND EXISTS ${venv_python})
    set(Python_EXECUTABLE ${venv_python})
endif()
set(Python_FIND_STRATEGY LOCATION)
find_package(Python COMPONENTS Interpreter REQUIRED)
execute_process(
    COMMAND ${Python_EXECUTABLE} -c "import fmpy, os; print(os.path.join(os.path.dirname(fmpy.__file__), 'c-code'))"
    OUTPUT_VARIABLE FMI_HEADERS OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE missing ERROR_QUIET)
if(missing OR NOT EXISTS "${FMI_HEADERS}/fmi3Functions.h")
    message(FATAL_ERROR "The FMI headers were not found: ${Python_EXECUTABLE} has no package fmpy. "
                        "Install it (pip install fmpy) or choose another with -DPython_EXECUTABLE=...")
endif()

string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" processor)
if(processor MATCHES "^(x86_64|amd64)$")
    set(architecture x86_64)
elseif(processor MATCHES "^(aarch64|arm64)$")
    set(architecture aarch64)
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND architecture)
    set(platform linux64)
    set(FMI3_PLATFORM ${architecture}-linux)
    set(FMU_SUFFIX .so)
elseif(CMAKE_SYSTEM_NAME STREQUAL "Darwin" AND architecture)
    set(platform darwin64)
    set(FMI3_PLATFORM ${architecture}-darwin)
    set(FMU_SUFFIX .dylib)
elseif(CMAKE_SYSTEM_NAME STREQUAL "Windows" AND architecture STREQUAL "x86_64")
    set(platform win64)
    set(FMI3_PLATFORM x86_64-windows)
    set(FMU_SUFFIX .dll)
else()
    message(FATAL_ERROR "FMUs cannot be built for ${CMAKE_SYSTEM_NAME} on ${CMAKE_SYSTEM_PROCESSOR}; "
                        "Linux and macOS on x86_64 and aarch64, and Windows on x86_64, are supported.")
endif()

# FMI 1.0 and 2.0 have no names for other machines than x86: an FMU of several platforms needs some.
set(FMI1_PLATFORM ${platform} CACHE STRING "Folder of the library in FMUs of FMI 1.0")
set(FMI2_PLATFORM ${platform} CACHE STRING "Folder of the library in FMUs of FMI 2.0")
set(DESCRIPTIONS "" CACHE PATH "Folder content/ of another build, if the programs made here do not run on this machine")

option(SSPTOOL_SANITIZE "Build the FMUs with the address and undefined-behaviour sanitizers" OFF)

add_library(fmu_settings INTERFACE)
target_compile_features(fmu_settings INTERFACE c_std_11)
target_include_directories(fmu_settings INTERFACE ${CMAKE_CURRENT_LIST_DIR})
target_include_directories(fmu_settings SYSTEM INTERFACE ${FMI_HEADERS})
# No contraction of a*b + c: the bits must not depend on the instruction set.
target_compile_options(fmu_settings INTERFACE -Wall -Wextra -Wpedantic -Werror -ffp-contract=off -fvisibility=hidden)
if(SSPTOOL_SANITIZE)
    set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    target_compile_options(fmu_settings INTERFACE ${sanitizers})
    target_link_options(fmu_settings INTERFACE ${sanitizers})
elseif(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    target_link_options(fmu_settings INTERFACE -Wl,--no-undefined)
endif()
target_link_libraries(fmu_settings INTERFACE m)

set(FMU_WRAPPER ${CMAKE_CURRENT_LIST_DIR})
set(PACK ${CMAKE_CURRENT_LIST_DIR}/pack.py)

# Compiled once for all FMUs.
set(core instance.c token.c saved_state.c derivatives.c cosimulation.c integrate.c)
list(TRANSFORM core PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
add_library(fmu_core OBJECT ${core})
add_library(fmu_fmi2 OBJECT ${CMAKE_CURRENT_LIST_DIR}/fmi2.c)
add_library(fmu_fmi3 OBJECT ${CMAKE_CURRENT_LIST_DIR}/fmi3.c)
add_library(fmu_describe OBJECT ${CMAKE_CURRENT_LIST_DIR}/describe.c ${CMAKE_CURRENT_LIST_DIR}/token.c)
foreach(part fmu_core fmu_fmi2 fmu_fmi3 fmu_describe)
    set_target_properties(${part} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_link_libraries(${part} PRIVATE fmu_settings)
endforeach()

# Packs modelDescription.xml, the binary of one FMI version, and the file of the terminals, if there is one.
function(pack_fmu target version platform name binary)
    set(terminals ${ARGN})
    set(content ${PROJECT_BINARY_DIR}/content/fmi${version}/${target})
    set(fmu ${PROJECT_BINARY_DIR}/fmi${version}/${target}.fmu)
    if(terminals)
        set(more terminalsAndIcons/terminalsAndIcons.xml)
        set(copy_more COMMAND ${CMAKE_COMMAND} -E make_directory ${content}/terminalsAndIcons
                      COMMAND ${CMAKE_COMMAND} -E copy ${terminals} ${content}/${more})
    endif()
    if(DESCRIPTIONS)
        set(describe ${CMAKE_COMMAND} -E copy ${DESCRIPTIONS}/fmi${version}/${target}/modelDescription.xml
                     ${content}/modelDescription.xml)
    else()
        set(describe ${target}_describe ${version} ${content}/modelDescription.xml)
        set(describing ${target}_describe)
    endif()
    add_custom_command(
        OUTPUT ${fmu}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${content}/binaries/${platform} ${PROJECT_BINARY_DIR}/fmi${version}
        COMMAND ${describe}
        COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:${binary}> ${content}/binaries/${platform}/${name}${FMU_SUFFIX}
        ${copy_more}
        COMMAND ${Python_EXECUTABLE} ${PACK} ${fmu} ${content}
                modelDescription.xml binaries/${platform}/${name}${FMU_SUFFIX} ${more}
        DEPENDS ${binary} ${describing} ${PACK} ${terminals}
        COMMENT "Packing fmi${version}/${target}.fmu"
        VERBATIM)
    add_custom_target(${target}_fmi${version}_fmu ALL DEPENDS ${fmu})
endfunction()

# add_fmu(<target> <source> [FMI1] [NAME <model name>] [TERMINALS <file>] [DEFINITIONS <macro>...])
# makes fmi2/<target>.fmu and fmi3/<target>.fmu in the build directory, with FMI1 also fmi1/<target>.fmu. NAME is the
# name that the model states, if it differs from the target's; TERMINALS becomes terminalsAndIcons.xml.
function(add_fmu target source)
    cmake_parse_arguments(ARG "FMI1" "NAME;TERMINALS" "DEFINITIONS" ${ARGN})
    if(NOT ARG_NAME)
        set(ARG_NAME ${target})
    endif()
    if(ARG_TERMINALS)
        get_filename_component(ARG_TERMINALS ${ARG_TERMINALS} ABSOLUTE)
    endif()
    foreach(numbers real complex)
        add_library(${target}_${numbers} OBJECT ${source})
        set_target_properties(${target}_${numbers} PROPERTIES POSITION_INDEPENDENT_CODE ON)
        target_link_libraries(${target}_${numbers} PRIVATE fmu_settings)
        target_compile_definitions(${target}_${numbers} PRIVATE ${ARG_DEFINITIONS})
    endforeach()
    target_compile_definitions(${target}_complex PRIVATE COMPLEX_NUMBERS)
    set(equations $<TARGET_OBJECTS:${target}_real> $<TARGET_OBJECTS:${target}_complex>)

    add_executable(${target}_describe $<TARGET_OBJECTS:fmu_describe> ${equations})
    target_link_libraries(${target}_describe PRIVATE fmu_settings)

    set(versions 2 3)
    if(ARG_FMI1)
        list(PREPEND versions 1)
        # The names of the functions begin with that of the model.
        add_library(${target}_fmi1_functions OBJECT ${FMU_WRAPPER}/fmi1.c)
        set_target_properties(${target}_fmi1_functions PROPERTIES POSITION_INDEPENDENT_CODE ON)
        target_compile_definitions(${target}_fmi1_functions PRIVATE FMI1_MODEL=${ARG_NAME})
        target_link_libraries(${target}_fmi1_functions PRIVATE fmu_settings)
    endif()

    foreach(version ${versions})
        set(functions fmu_fmi${version})
        if(version EQUAL 1)
            set(functions ${target}_fmi1_functions)
        endif()
        set(binary ${target}_fmi${version})
        add_library(${binary} SHARED $<TARGET_OBJECTS:fmu_core> $<TARGET_OBJECTS:${functions}> ${equations})
        set_target_properties(${binary} PROPERTIES PREFIX "" SUFFIX ${FMU_SUFFIX} NO_SONAME ON)
        target_link_libraries(${binary} PRIVATE fmu_settings)
        pack_fmu(${target} ${version} ${FMI${version}_PLATFORM} ${ARG_NAME} ${binary} "${ARG_TERMINALS}")
    endforeach()
endfunction()

# install_fmu(<target> <fmi version> <file>) copies an FMU to where a system wants it, as part of the target `systems`.
function(install_fmu target version file)
    get_filename_component(folder ${file} DIRECTORY)
    set(fmu ${PROJECT_BINARY_DIR}/fmi${version}/${target}.fmu)
    add_custom_command(
        OUTPUT ${file}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
        COMMAND ${CMAKE_COMMAND} -E copy ${fmu} ${file}
        DEPENDS ${fmu} ${target}_fmi${version}_fmu
        VERBATIM)
    string(MAKE_C_IDENTIFIER "install_${file}" name)
    add_custom_target(${name} DEPENDS ${file})
    if(NOT TARGET systems)
        add_custom_target(systems)
    endif()
    add_dependencies(systems ${name})
endfunction()
