# The RMR header, and the programs that the lab's `rmr` scenario runs.
set(PEERS_RMR_INCLUDE_DIR ${CMAKE_CURRENT_SOURCE_DIR}/../crates/rmr-c/include CACHE PATH
  "Folder that holds rmr/rmr.h")
if(NOT EXISTS ${PEERS_RMR_INCLUDE_DIR}/rmr/rmr.h)
  message(STATUS "${PEERS_RMR_INCLUDE_DIR} holds no rmr/rmr.h: the RMR programs are not built")
  return()
endif()
add_subdirectory(rmr)
