# gRPC C++ and Protocol Buffers: the GRPC-* adapters.
option(PEERS_GRPC "Build the GRPC-* adapters when gRPC is found" ON)
if(NOT PEERS_GRPC)
  message(STATUS "PEERS_GRPC is off: the GRPC-* adapters are not built")
  return()
endif()
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(GRPC QUIET IMPORTED_TARGET grpc++ protobuf)
endif()
find_program(PROTOC protoc)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin)

if(NOT GRPC_FOUND OR NOT PROTOC OR NOT GRPC_CPP_PLUGIN)
  message(STATUS "gRPC was not found: the GRPC-* adapters are not built. They need pkg-config, "
    "libgrpc++-dev, libprotobuf-dev, protobuf-compiler and protobuf-compiler-grpc.")
  return()
endif()
message(STATUS "gRPC ${GRPC_grpc++_VERSION}, protobuf ${GRPC_protobuf_VERSION}")

set(generated ${CMAKE_CURRENT_BINARY_DIR}/idl-grpc)
file(MAKE_DIRECTORY ${generated})
add_custom_command(
  OUTPUT ${generated}/guti.pb.cc ${generated}/guti.pb.h
         ${generated}/guti.grpc.pb.cc ${generated}/guti.grpc.pb.h
  COMMAND ${PROTOC} -I ${CMAKE_CURRENT_SOURCE_DIR}/idl --cpp_out=${generated}
          --grpc_out=${generated} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} guti.proto
  DEPENDS idl/guti.proto VERBATIM)
add_library(peers-grpc-idl OBJECT ${generated}/guti.pb.cc ${generated}/guti.grpc.pb.cc)
target_include_directories(peers-grpc-idl SYSTEM PUBLIC ${generated})
target_link_libraries(peers-grpc-idl PUBLIC PkgConfig::GRPC)

add_library(peers-grpc OBJECT
  grpc/adapters.cpp
  grpc/asbi_client.cpp
  grpc/as_client.cpp
  grpc/bi_client.cpp
  grpc/callback_server.cpp
  grpc/cb_client.cpp
  grpc/common.cpp
  grpc/queue_server.cpp
  grpc/s_client.cpp
  grpc/sync_server.cpp)
target_link_libraries(peers-grpc PRIVATE peers-flags peers-grpc-idl)

target_compile_definitions(peers-harness PRIVATE PEERS_WITH_GRPC)
target_link_libraries(peers-all INTERFACE PkgConfig::GRPC
  $<TARGET_OBJECTS:peers-grpc> $<TARGET_OBJECTS:peers-grpc-idl>)
list(APPEND PEERS_ADAPTERS GRPC-S GRPC-AS GRPC-BI GRPC-ASBI GRPC-CB)
