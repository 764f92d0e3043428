#include "grpc/common.hpp"

#include <absl/synchronization/mutex.h>

#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>

#include "tcp/socket.hpp"

namespace peers::grpc_adapters {

namespace {

std::chrono::system_clock::time_point in_seconds(int seconds) {
    return std::chrono::system_clock::now() + std::chrono::seconds(seconds);
}

cw_guti from_message(const pb::Guti& message) {
    cw_guti guti{};
    guti.mcc = static_cast<std::uint16_t>(message.mcc());
    guti.mnc = static_cast<std::uint16_t>(message.mnc());
    guti.mnc_digits = static_cast<std::uint8_t>(message.mnc_digits());
    guti.amf_region = static_cast<std::uint8_t>(message.amf_region());
    guti.amf_set = static_cast<std::uint16_t>(message.amf_set());
#ifndef PEERS_NEXT
    guti.amf_pointer = static_cast<std::uint8_t>(message.amf_pointer());
#endif
    guti.tmsi = message.tmsi();
    return guti;
}

void to_message(const cw_guti& guti, pb::Guti& message) {
    message.set_mcc(guti.mcc);
    message.set_mnc(guti.mnc);
    message.set_mnc_digits(guti.mnc_digits);
    message.set_amf_region(guti.amf_region);
    message.set_amf_set(guti.amf_set);
#ifndef PEERS_NEXT
    message.set_amf_pointer(guti.amf_pointer);
#endif
    message.set_tmsi(guti.tmsi);
}

std::shared_ptr<grpc::ChannelCredentials> credentials(const Tls& tls) {
    if (!tls.on()) return grpc::InsecureChannelCredentials();
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = read_pem(tls.authorities);
    if (tls.mutual()) {
        options.pem_cert_chain = read_pem(tls.certificate);
        options.pem_private_key = read_pem(tls.key);
    }
    return grpc::SslCredentials(options);
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const Tls& tls) {
    if (!tls.on()) return grpc::InsecureServerCredentials();
    grpc::SslServerCredentialsOptions options(
        tls.mutual() ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                     : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
    options.pem_key_cert_pairs.push_back({read_pem(tls.key), read_pem(tls.certificate)});
    if (tls.mutual()) options.pem_root_certs = read_pem(tls.authorities);
    return grpc::SslServerCredentials(options);
}

/// gRPC keeps trying where there is nobody; a socket of our own knows at once. Once for each
/// server: a connection for each request shall not cost two.
void probe(const Endpoint& server) {
    static std::mutex mutex;
    static std::set<std::string> found;
    const std::lock_guard lock(mutex);
    if (found.contains(server.to_string())) return;
    connect_to(server);
    found.insert(server.to_string());
}

/// As gRPC's guide has it for services that restart (gRFC A6). CANCELLED is what a server answers
/// that is told to end while a call has arrived and no thread has taken it (grpc/grpc#41785).
constexpr char kRetries[] = R"({"methodConfig": [{
    "name": [{"service": "guti.v1.GutiService"}],
    "retryPolicy": {"maxAttempts": 5, "initialBackoff": "0.01s", "maxBackoff": "0.25s",
        "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"]}}]})";

/// As WaitForConnected, but a peer that does not believe us, or that we do not believe, is known at
/// once: gRPC would try again until the time is over.
bool connects(grpc::Channel& channel) {
    const auto deadline = in_seconds(kCallTimeoutSeconds);
    for (;;) {
        const grpc_connectivity_state state = channel.GetState(true);
        if (state == GRPC_CHANNEL_READY) return true;
        if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) return false;
        if (!channel.WaitForStateChange(state, deadline)) return false;
    }
}

}  // namespace

void tune_library() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }

Versions versions() {
    return {{"grpc", grpc::Version()},
            {"protobuf", google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION)}};
}

Channel::Channel(const Endpoint& server) {
    tune_library();
    probe(server);
    grpc::ChannelArguments arguments;
    std::string target = server.to_string();
    if (!server.others.empty()) {
        // gRPC's own balancing over a list: its policy round_robin, its resolver of addresses.
        target = "ipv4:" + target;
        for (const std::string& other : server.others) target += "," + other;
        arguments.SetLoadBalancingPolicyName("round_robin");
        arguments.SetServiceConfigJSON(kRetries);
    }
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    // Without a pool of its own, channels to one address share one connection.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel_ = grpc::CreateCustomChannel(target, credentials(server.tls), arguments);
    const bool connected = server.tls.on()
                               ? connects(*channel_)
                               : channel_->WaitForConnected(in_seconds(kCallTimeoutSeconds));
    if (!connected) {
        throw std::runtime_error("cannot connect to " + server.to_string() +
                                 (server.tls.on() ? ": no TLS connection came about" : ""));
    }
}

void configure(grpc::ServerBuilder& builder, const Endpoint& listen, int& bound_port) {
    tune_library();
    // gRPC only logs why an address is refused, and several lines of it; a socket of our own
    // meets the same reason and throws it.
    if (listen.port != 0) listen_on(listen);
    builder.SetMaxReceiveMessageSize(-1);
    builder.SetMaxSendMessageSize(-1);
    // Else a port that another gRPC server uses would be taken as well, silently.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddListeningPort(listen.to_string(), server_credentials(listen.tls), &bound_port);
}

std::unique_ptr<grpc::Server> start(grpc::ServerBuilder& builder, const Endpoint& listen,
                                    const int& bound_port) {
    auto server = builder.BuildAndStart();
    if (server && bound_port != 0) return server;
    throw std::runtime_error("cannot listen on " + listen.to_string() + ": gRPC refuses");
}

grpc::Status allocate(Allocator& allocator, std::string&& payload, pb::AllocateResponse& response) {
    cw_guti guti{};
    const int status = allocator.allocate(guti);
    if (status != 0) {
        return {grpc::StatusCode::RESOURCE_EXHAUSTED, describe_allocator_status(status)};
    }
    to_message(guti, *response.mutable_guti());
    response.set_payload(std::move(payload));
#ifdef PEERS_NEXT
    response.set_served_by("a later version");
#endif
    return grpc::Status::OK;
}

grpc::Status deallocate(Allocator& allocator, const pb::DeallocateRequest& request) {
    const int status = allocator.deallocate(from_message(request.guti()));
    if (status == 0) return grpc::Status::OK;
    return {grpc::StatusCode::NOT_FOUND, describe_allocator_status(status)};
}

Response to_response(const pb::AllocateResponse& response) {
    return {from_message(response.guti()), response.payload()};
}

pb::DeallocateRequest to_deallocate_request(const cw_guti& guti) {
    pb::DeallocateRequest request;
    to_message(guti, *request.mutable_guti());
    return request;
}

void deallocate(pb::GutiService::Stub& stub, const cw_guti& guti) {
    grpc::ClientContext context;
    context.set_deadline(in_seconds(kCallTimeoutSeconds));
    pb::DeallocateResponse response;
    expect_ok(stub.Deallocate(&context, to_deallocate_request(guti), &response));
}

void expect_ok(const grpc::Status& status) {
    if (status.ok()) return;
    throw CallError("gRPC status " + std::to_string(status.error_code()) + ": " +
                    status.error_message());
}

}  // namespace peers::grpc_adapters
