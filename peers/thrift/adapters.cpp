#include "thrift/adapters.hpp"

#include "thrift/common.hpp"
#include "thrift/evhttp_client.hpp"
#include "thrift/evhttp_server.hpp"
#include "thrift/framed_client.hpp"
#include "thrift/framed_server.hpp"

namespace peers {

using namespace thrift_adapters;

Implementation make_thrift_s() { return {serve_threaded, connect_framed, versions}; }
#ifndef PEERS_NEXT
Implementation make_thrift_nb() { return {serve_nonblocking, connect_framed, versions}; }
Implementation make_thrift_as() { return {serve_evhttp, connect_evhttp, versions}; }
#endif

}  // namespace peers
