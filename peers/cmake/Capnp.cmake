# Cap'n Proto's RPC system: the adapter CAPNP.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(CAPNP QUIET IMPORTED_TARGET capnp-rpc)
endif()
find_program(CAPNP_COMPILER capnp)
if(NOT CAPNP_FOUND OR NOT CAPNP_COMPILER)
  message(STATUS "Cap'n Proto was not found: the adapter CAPNP is not built. It needs pkg-config, "
    "capnproto and libcapnp-dev.")
  return()
endif()
message(STATUS "Cap'n Proto ${CAPNP_VERSION}")

set(generated ${CMAKE_CURRENT_BINARY_DIR}/idl-capnp)
file(MAKE_DIRECTORY ${generated})
add_custom_command(
  OUTPUT ${generated}/guti.capnp.c++ ${generated}/guti.capnp.h
  COMMAND ${CAPNP_COMPILER} compile -oc++:${generated}
          --src-prefix=${CMAKE_CURRENT_SOURCE_DIR}/idl ${CMAKE_CURRENT_SOURCE_DIR}/idl/guti.capnp
  DEPENDS idl/guti.capnp VERBATIM)
add_library(peers-capnp-idl OBJECT ${generated}/guti.capnp.c++)
target_include_directories(peers-capnp-idl SYSTEM PUBLIC ${generated})
target_link_libraries(peers-capnp-idl PUBLIC PkgConfig::CAPNP)

add_library(peers-capnp OBJECT capnp/adapters.cpp capnp/client.cpp capnp/server.cpp)
target_link_libraries(peers-capnp PRIVATE peers-flags peers-capnp-idl)
add_dependencies(peers-capnp peers-capnp-idl)

target_compile_definitions(peers-harness PRIVATE PEERS_WITH_CAPNP)
target_link_libraries(peers-all INTERFACE PkgConfig::CAPNP
  $<TARGET_OBJECTS:peers-capnp> $<TARGET_OBJECTS:peers-capnp-idl>)
list(APPEND PEERS_ADAPTERS CAPNP)
