# librmr_grpc.so: the RMR API over gRPC C++, as the RMR brief designs it.
if(NOT EXISTS ${PEERS_RMR_INCLUDE_DIR}/rmr/rmr.h)
  return()
endif()
if(NOT TARGET peers-grpc-idl)
  message(STATUS "librmr_grpc is not built: it needs gRPC")
  return()
endif()

set(generated ${CMAKE_CURRENT_BINARY_DIR}/idl-rmr)
file(MAKE_DIRECTORY ${generated})
add_custom_command(
  OUTPUT ${generated}/bob.pb.cc ${generated}/bob.pb.h
         ${generated}/bob.grpc.pb.cc ${generated}/bob.grpc.pb.h
  COMMAND ${PROTOC} -I ${CMAKE_CURRENT_SOURCE_DIR}/idl --cpp_out=${generated}
          --grpc_out=${generated} --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} bob.proto
  DEPENDS idl/bob.proto VERBATIM)
add_library(rmr-grpc-idl OBJECT ${generated}/bob.pb.cc ${generated}/bob.grpc.pb.cc)
target_include_directories(rmr-grpc-idl SYSTEM PUBLIC ${generated})
target_link_libraries(rmr-grpc-idl PUBLIC PkgConfig::GRPC)
set_target_properties(rmr-grpc-idl PROPERTIES POSITION_INDEPENDENT_CODE ON)

add_library(rmr_grpc SHARED
  rmr-grpc/api.cpp
  rmr-grpc/context.cpp
  rmr-grpc/endpoint.cpp
  rmr-grpc/message.cpp
  rmr-grpc/receptor.cpp
  rmr-grpc/ring.cpp
  rmr-grpc/route_table.cpp
  $<TARGET_OBJECTS:rmr-grpc-idl>)
target_include_directories(rmr_grpc PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PEERS_RMR_INCLUDE_DIR})
target_compile_options(rmr_grpc PRIVATE -Wall -Wextra -Werror)
target_link_libraries(rmr_grpc PRIVATE rmr-grpc-idl PkgConfig::GRPC Threads::Threads)
# Only the API leaves the library: an application may have gRPC of its own.
target_link_options(rmr_grpc PRIVATE
  -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/rmr-grpc/exports.map)
set_target_properties(rmr_grpc PROPERTIES
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/rmr-grpc/exports.map)
