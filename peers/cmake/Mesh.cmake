# The mesh experiment's C++ ends: gRPC (plain, xds:/// and the paper's shim), and nghttp2 as the
# reference of HTTP/2.
if(NOT GRPC_FOUND OR NOT PROTOC OR NOT GRPC_CPP_PLUGIN)
  message(STATUS "gRPC was not found: the mesh's C++ ends are not built")
  return()
endif()
pkg_check_modules(NGHTTP2 QUIET IMPORTED_TARGET libnghttp2)
if(NOT NGHTTP2_FOUND)
  message(STATUS "nghttp2 was not found: the mesh's HTTP/2 reference is not built. It needs "
    "libnghttp2-dev.")
endif()

set(generated ${CMAKE_CURRENT_BINARY_DIR}/idl-mesh)
file(MAKE_DIRECTORY ${generated})
add_custom_command(
  OUTPUT ${generated}/sm_contexts.pb.cc ${generated}/sm_contexts.pb.h
         ${generated}/sm_contexts.grpc.pb.cc ${generated}/sm_contexts.grpc.pb.h
  COMMAND ${PROTOC} -I ${CMAKE_CURRENT_SOURCE_DIR}/idl --cpp_out=${generated}
          --grpc_out=${generated} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} sm_contexts.proto
  DEPENDS idl/sm_contexts.proto VERBATIM)
add_library(mesh-idl OBJECT ${generated}/sm_contexts.pb.cc ${generated}/sm_contexts.grpc.pb.cc)
target_include_directories(mesh-idl SYSTEM PUBLIC ${generated})
target_link_libraries(mesh-idl PUBLIC PkgConfig::GRPC)

# No GUTI allocator here: nothing of Corewire is linked.
add_library(mesh-common OBJECT
  harness/arguments.cpp
  harness/cpu_clock.cpp
  harness/histogram.cpp
  harness/histogram_json.cpp
  harness/json.cpp
  harness/pacing.cpp
  harness/signals.cpp
  mesh/grpc_gateway.cpp
  mesh/grpc_replica.cpp
  mesh/load.cpp
  mesh/messages.cpp
  mesh/options.cpp
  mesh/shim.cpp)
target_compile_options(mesh-common PRIVATE -Wall -Wextra -Werror)
target_include_directories(mesh-common PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(mesh-common PUBLIC mesh-idl Threads::Threads)
if(NGHTTP2_FOUND)
  target_sources(mesh-common PRIVATE mesh/h2_gateway.cpp mesh/h2_replica.cpp mesh/h2_session.cpp)
  target_compile_definitions(mesh-common PUBLIC MESH_WITH_NGHTTP2)
  target_link_libraries(mesh-common PUBLIC PkgConfig::NGHTTP2)
endif()

foreach(end gateway replica)
  add_executable(corewire-mesh-${end} mesh/${end}_main.cpp)
  target_compile_options(corewire-mesh-${end} PRIVATE -Wall -Wextra -Werror)
  target_link_libraries(corewire-mesh-${end} PRIVATE mesh-common
    $<TARGET_OBJECTS:mesh-idl>)
endforeach()
