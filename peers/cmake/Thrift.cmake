# Apache Thrift C++ with its libevent servers: the THRIFT-* adapters.
option(PEERS_THRIFT "Build the THRIFT-* adapters when Thrift is found" ON)
if(NOT PEERS_THRIFT)
  message(STATUS "PEERS_THRIFT is off: the THRIFT-* adapters are not built")
  return()
endif()
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(THRIFT QUIET IMPORTED_TARGET thrift thrift-nb libevent)
endif()
find_program(THRIFT_COMPILER thrift)
# Thrift's headers include Boost's, which its Debian package does not bring.
find_path(BOOST_INCLUDE_DIR boost/scoped_array.hpp)

if(NOT THRIFT_FOUND OR NOT THRIFT_COMPILER OR NOT BOOST_INCLUDE_DIR)
  message(STATUS "Thrift was not found: the THRIFT-* adapters are not built. They need "
    "pkg-config, libthrift-dev, thrift-compiler, libevent-dev and libboost-dev.")
  return()
endif()
message(STATUS "Thrift ${THRIFT_thrift_VERSION}, libevent ${THRIFT_libevent_VERSION}")

set(generated ${CMAKE_CURRENT_BINARY_DIR}/idl-thrift)
file(MAKE_DIRECTORY ${generated})
# cob_style adds the callback client and server that THRIFT-AS needs.
add_custom_command(
  OUTPUT ${generated}/GutiService.cpp ${generated}/GutiService.h
         ${generated}/guti_types.cpp ${generated}/guti_types.h
  COMMAND ${THRIFT_COMPILER} --gen cpp:cob_style,no_skeleton -out ${generated}
          ${CMAKE_CURRENT_SOURCE_DIR}/idl/guti.thrift
  DEPENDS idl/guti.thrift VERBATIM)
add_library(peers-thrift-idl OBJECT ${generated}/GutiService.cpp ${generated}/guti_types.cpp)
target_include_directories(peers-thrift-idl SYSTEM PUBLIC ${generated})
target_link_libraries(peers-thrift-idl PUBLIC PkgConfig::THRIFT)

add_library(peers-thrift OBJECT
  thrift/adapters.cpp
  thrift/common.cpp
  thrift/evhttp_client.cpp
  thrift/evhttp_server.cpp
  thrift/framed_client.cpp
  thrift/framed_server.cpp)
target_link_libraries(peers-thrift PRIVATE peers-flags peers-thrift-idl)

target_compile_definitions(peers-harness PRIVATE PEERS_WITH_THRIFT)
target_link_libraries(peers-all INTERFACE PkgConfig::THRIFT
  $<TARGET_OBJECTS:peers-thrift> $<TARGET_OBJECTS:peers-thrift-idl>)
list(APPEND PEERS_ADAPTERS THRIFT-S THRIFT-NB THRIFT-AS)
