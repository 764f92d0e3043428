#include "rmr-grpc/receptor.hpp"

#include <chrono>
#include <stdexcept>
#include <utility>

#include "rmr-grpc/context.hpp"

namespace peers::rmr_grpc {

grpc::Status Receptor::Deliver(grpc::ServerContext* /*call*/,
                               grpc::ServerReaderWriter<::rmr::v1::Bob, ::rmr::v1::Bob>* stream) {
    // Both are kept from message to message, and with them their memory.
    ::rmr::v1::Bob bob;
    MessagePtr spare;
    while (stream->Read(&bob)) {
        // An empty one only pushed its predecessors out of the sender's buffer.
        if (!bob.stuff().empty()) {
            spare = context_.deliver(bob.stuff(), std::move(spare));
        }
    }
    return grpc::Status::OK;
}

Server::Server(Context& context, const std::string& address) : receptor_(context) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&receptor_);
    // By default two servers may share a port, and each would get some of the messages.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.SetMaxReceiveMessageSize(-1);
    server_ = builder.BuildAndStart();
    if (!server_ || port == 0) {
        throw std::runtime_error("cannot listen on " + address + ": is the port in use?");
    }
}

Server::~Server() { server_->Shutdown(std::chrono::system_clock::now()); }

}  // namespace peers::rmr_grpc
