#include "corewire/adapters.hpp"

#include <corewire.hpp>

#include "corewire/clients.hpp"
#include "corewire/server.hpp"
#include "harness/looped_client.hpp"

namespace peers {

using namespace corewire_adapters;

namespace {

Versions versions() { return {{"corewire", corewire_version()}}; }

}  // namespace

// One server for all: what a connection speaks is told by its first octets.
Implementation make_cw_s() { return {serve, connect_native, versions}; }
#ifndef PEERS_NEXT
Implementation make_cw_as() { return {serve, connect_async, versions}; }
Implementation make_cw_bi() { return {serve, connect_stream, versions}; }
Implementation make_cw_el() { return on_a_loop(serve, connect_loop, versions); }
Implementation make_cw_shm() { return {serve, connect_memory, versions}; }
Implementation make_cw_rest() { return {serve, connect_rest, versions}; }
Implementation make_cw_grpc() { return {serve, connect_grpc, versions}; }
#endif

}  // namespace peers
