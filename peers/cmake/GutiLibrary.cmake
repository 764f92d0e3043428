# The Rust library behind every server: target `corewire::guti`.
#
# COREWIRE_RUST_LIBRARY names the one Rust static library that is linked. `corewire_guti` holds
# the allocator alone; `corewire` (crates/capi) holds the same symbols and Corewire's C API. Two
# Rust static libraries cannot be linked into one program: each brings the Rust runtime.
set(COREWIRE_RUST_LIBRARY corewire CACHE STRING
    "Rust static library to link: corewire_guti or corewire")
set_property(CACHE COREWIRE_RUST_LIBRARY PROPERTY STRINGS corewire_guti corewire)
if(NOT COREWIRE_RUST_LIBRARY MATCHES "^(corewire_guti|corewire)$")
  message(FATAL_ERROR "COREWIRE_RUST_LIBRARY must be corewire_guti or corewire")
endif()

get_filename_component(COREWIRE_REPO ${CMAKE_CURRENT_SOURCE_DIR}/.. ABSOLUTE)
if(DEFINED ENV{CARGO_TARGET_DIR})
  get_filename_component(COREWIRE_CARGO_TARGET_DIR $ENV{CARGO_TARGET_DIR} ABSOLUTE
    BASE_DIR ${COREWIRE_REPO})
else()
  set(COREWIRE_CARGO_TARGET_DIR ${COREWIRE_REPO}/target)
endif()
# A build folder made before the C libraries had the release profile remembers another folder.
if(COREWIRE_LIB_DIR MATCHES "/capi/?$" AND NOT EXISTS ${COREWIRE_LIB_DIR})
  unset(COREWIRE_LIB_DIR CACHE)
endif()
set(COREWIRE_LIB_DIR ${COREWIRE_CARGO_TARGET_DIR}/release CACHE PATH
    "Folder of the Rust static library; built there by cargo when it is absent")
set(COREWIRE_INCLUDE_DIRS
    "${COREWIRE_REPO}/crates/guti/include;${COREWIRE_REPO}/crates/capi/include" CACHE STRING
    "Folders of corewire_guti.h, corewire.h and corewire.hpp")

set(COREWIRE_ARCHIVE ${COREWIRE_LIB_DIR}/lib${COREWIRE_RUST_LIBRARY}.a)
if(NOT EXISTS ${COREWIRE_ARCHIVE})
  if(NOT COREWIRE_LIB_DIR MATCHES "/release/?$")
    message(FATAL_ERROR "${COREWIRE_ARCHIVE} does not exist, and COREWIRE_LIB_DIR is not the "
      "release folder of a cargo target folder, so cargo cannot build it there")
  endif()
  find_program(COREWIRE_CARGO cargo REQUIRED)
  get_filename_component(COREWIRE_BUILD_TARGET_DIR ${COREWIRE_LIB_DIR} DIRECTORY)
  if(COREWIRE_RUST_LIBRARY STREQUAL corewire)
    set(COREWIRE_PACKAGE corewire-capi)
  else()
    set(COREWIRE_PACKAGE corewire-guti)
  endif()
  message(STATUS "${COREWIRE_ARCHIVE} is absent: cargo will build ${COREWIRE_PACKAGE}")
  add_custom_command(OUTPUT ${COREWIRE_ARCHIVE}
    COMMAND ${COREWIRE_CARGO} build --release -p ${COREWIRE_PACKAGE}
            --target-dir ${COREWIRE_BUILD_TARGET_DIR}
    WORKING_DIRECTORY ${COREWIRE_REPO}
    COMMENT "cargo build --release -p ${COREWIRE_PACKAGE}"
    USES_TERMINAL VERBATIM)
endif()
add_custom_target(corewire-rust-library DEPENDS ${COREWIRE_ARCHIVE})

add_library(corewire::guti STATIC IMPORTED GLOBAL)
add_dependencies(corewire::guti corewire-rust-library)
foreach(folder IN LISTS COREWIRE_INCLUDE_DIRS)
  if(IS_DIRECTORY ${folder})
    target_include_directories(corewire::guti SYSTEM INTERFACE ${folder})
  endif()
endforeach()
set_target_properties(corewire::guti PROPERTIES
  IMPORTED_LOCATION ${COREWIRE_ARCHIVE}
  INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
