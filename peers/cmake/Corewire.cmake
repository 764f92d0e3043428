# Corewire's own adapters (CW-*), when its library is the Rust library of this build.
if(NOT COREWIRE_RUST_LIBRARY STREQUAL corewire)
  message(STATUS "The CW-* adapters are not built: COREWIRE_RUST_LIBRARY is "
    "${COREWIRE_RUST_LIBRARY}, which holds the GUTI allocator alone")
  return()
endif()

add_library(peers-corewire OBJECT
  corewire/adapters.cpp
  corewire/async_client.cpp
  corewire/blocking_client.cpp
  corewire/loop_client.cpp
  corewire/server.cpp
  corewire/stream_client.cpp)
target_link_libraries(peers-corewire PRIVATE peers-flags)

target_compile_definitions(peers-harness PRIVATE PEERS_WITH_COREWIRE)
target_link_libraries(peers-all INTERFACE $<TARGET_OBJECTS:peers-corewire>)
list(APPEND PEERS_ADAPTERS CW-S CW-AS CW-BI CW-EL CW-SHM CW-REST CW-GRPC)
