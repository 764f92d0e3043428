#include "grpc/adapters.hpp"

#include "grpc/callback_server.hpp"
#include "grpc/clients.hpp"
#include "grpc/common.hpp"
#include "grpc/queue_server.hpp"
#include "grpc/sync_server.hpp"

namespace peers {

using namespace grpc_adapters;

Implementation make_grpc_s() { return {serve_sync, connect_s, versions}; }
#ifndef PEERS_NEXT
Implementation make_grpc_as() { return {serve_queue, connect_as, versions}; }
Implementation make_grpc_bi() { return {serve_sync, connect_bi, versions}; }
Implementation make_grpc_asbi() { return {serve_queue, connect_asbi, versions}; }
Implementation make_grpc_cb() { return {serve_callback, connect_cb, versions}; }
#endif

}  // namespace peers
