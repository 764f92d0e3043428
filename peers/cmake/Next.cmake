# The server and the client once more, for a later version of the service (idl/next): with today's
# they show which framework's old and new ends understand each other. One adapter a framework, and
# nothing is measured with them, so they are not optimised.
if(NOT TARGET peers-grpc OR NOT TARGET peers-thrift OR NOT TARGET peers-corewire)
  message(STATUS "corewire-peer-next-* are not built: they need gRPC, Thrift and Corewire")
  return()
endif()

set(generated ${CMAKE_CURRENT_BINARY_DIR}/idl-next)
file(MAKE_DIRECTORY ${generated})
add_custom_command(
  OUTPUT ${generated}/guti.pb.cc ${generated}/guti.pb.h
         ${generated}/guti.grpc.pb.cc ${generated}/guti.grpc.pb.h
  COMMAND ${PROTOC} -I ${CMAKE_CURRENT_SOURCE_DIR}/idl/next --cpp_out=${generated}
          --grpc_out=${generated} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} guti.proto
  DEPENDS idl/next/guti.proto VERBATIM)
add_custom_command(
  OUTPUT ${generated}/GutiService.cpp ${generated}/GutiService.h
         ${generated}/guti_types.cpp ${generated}/guti_types.h
  COMMAND ${THRIFT_COMPILER} --gen cpp:cob_style,no_skeleton -out ${generated}
          ${CMAKE_CURRENT_SOURCE_DIR}/idl/next/guti.thrift
  DEPENDS idl/next/guti.thrift VERBATIM)
add_library(peers-next-idl OBJECT
  ${generated}/guti.pb.cc ${generated}/guti.grpc.pb.cc
  ${generated}/GutiService.cpp ${generated}/guti_types.cpp)
target_include_directories(peers-next-idl SYSTEM PUBLIC ${generated})
target_link_libraries(peers-next-idl PUBLIC PkgConfig::GRPC PkgConfig::THRIFT)
target_compile_options(peers-next-idl PUBLIC -O0)

get_target_property(harness peers-harness SOURCES)
get_target_property(tcp peers-tcp SOURCES)
add_library(peers-next OBJECT ${harness} ${tcp}
  grpc/adapters.cpp
  grpc/common.cpp
  grpc/s_client.cpp
  grpc/sync_server.cpp
  thrift/adapters.cpp
  thrift/common.cpp
  thrift/framed_client.cpp
  thrift/framed_server.cpp
  corewire/adapters.cpp
  corewire/blocking_client.cpp
  corewire/server.cpp)
target_compile_definitions(peers-next PRIVATE
  PEERS_NEXT PEERS_WITH_GRPC PEERS_WITH_THRIFT PEERS_WITH_COREWIRE)
target_link_libraries(peers-next PRIVATE peers-flags peers-next-idl)

foreach(end IN ITEMS server client)
  add_executable(corewire-peer-next-${end} harness/${end}_main.cpp)
  target_link_libraries(corewire-peer-next-${end} PRIVATE peers-flags
    $<TARGET_OBJECTS:peers-next> $<TARGET_OBJECTS:peers-next-idl> PkgConfig::GRPC PkgConfig::THRIFT)
endforeach()
