// TCP-AS: the thesis's own adapter.
#include "harness/connector.hpp"
#include "tcp/adapters.hpp"
#include "tcp/tcp_as_client.hpp"
#include "tcp/tcp_as_server.hpp"

namespace peers {

Implementation make_tcp_as() {
    return {[](const Endpoint& listen, Allocator& allocator) {
                return std::make_unique<tcp_as::PoolServer>(listen, allocator);
            },
            make_connector<tcp_as::Connection, tcp_as::TcpAsClient>, [] { return Versions{}; }};
}

}  // namespace peers
