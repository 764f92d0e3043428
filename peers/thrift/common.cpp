#include "thrift/common.hpp"

#include <event2/event.h>
#include <thrift/config.h>

#include <limits>

namespace peers::thrift_adapters {

namespace {

// Thrift's integers are signed: the casts keep the bits.
cw_guti from_message(const idl::Guti& message) {
    cw_guti guti{};
    guti.mcc = static_cast<std::uint16_t>(message.mcc);
    guti.mnc = static_cast<std::uint16_t>(message.mnc);
    guti.mnc_digits = static_cast<std::uint8_t>(message.mnc_digits);
    guti.amf_region = static_cast<std::uint8_t>(message.amf_region);
    guti.amf_set = static_cast<std::uint16_t>(message.amf_set);
#ifndef PEERS_NEXT
    guti.amf_pointer = static_cast<std::uint8_t>(message.amf_pointer);
#endif
    guti.tmsi = static_cast<std::uint32_t>(message.tmsi);
    return guti;
}

void to_message(const cw_guti& guti, idl::Guti& message) {
    message.mcc = static_cast<std::int16_t>(guti.mcc);
    message.mnc = static_cast<std::int16_t>(guti.mnc);
    message.mnc_digits = static_cast<std::int8_t>(guti.mnc_digits);
    message.amf_region = static_cast<std::int8_t>(guti.amf_region);
    message.amf_set = static_cast<std::int16_t>(guti.amf_set);
#ifndef PEERS_NEXT
    message.amf_pointer = static_cast<std::int8_t>(guti.amf_pointer);
#endif
    message.tmsi = static_cast<std::int32_t>(guti.tmsi);
}

idl::GutiError error_of(int status) {
    idl::GutiError error;
    error.status = status;
    error.message = describe_allocator_status(status);
    return error;
}

}  // namespace

Versions versions() { return {{"thrift", PACKAGE_VERSION}, {"libevent", event_get_version()}}; }

std::shared_ptr<apache::thrift::TConfiguration> unlimited() {
    return std::make_shared<apache::thrift::TConfiguration>(std::numeric_limits<int>::max(),
                                                            std::numeric_limits<int>::max());
}

std::shared_ptr<apache::thrift::transport::TSSLSocketFactory> tls_sockets(const Tls& tls,
                                                                          bool is_server) {
    auto factory = std::make_shared<apache::thrift::transport::TSSLSocketFactory>();
    factory->server(is_server);
    const bool shows = is_server || tls.mutual();
    const bool checks = !is_server || tls.mutual();
    if (shows) {
        factory->loadCertificate(tls.certificate.c_str());
        factory->loadPrivateKey(tls.key.c_str());
    }
    if (checks) factory->loadTrustedCertificates(tls.authorities.c_str());
    factory->authenticate(checks);
    return factory;
}

void allocate(Allocator& allocator, const idl::AllocateRequest& request,
              idl::AllocateResponse& response) {
    cw_guti guti{};
    const int status = allocator.allocate(guti);
    if (status != 0) throw error_of(status);
    to_message(guti, response.guti);
    response.payload = request.payload;
#ifdef PEERS_NEXT
    response.served_by = "a later version";
#endif
}

void deallocate(Allocator& allocator, const idl::DeallocateRequest& request) {
    const int status = allocator.deallocate(from_message(request.guti));
    if (status != 0) throw error_of(status);
}

Response to_response(const idl::AllocateResponse& response) {
    return {from_message(response.guti), response.payload};
}

idl::DeallocateRequest to_deallocate_request(const cw_guti& guti) {
    idl::DeallocateRequest request;
    to_message(guti, request.guti);
    return request;
}

}  // namespace peers::thrift_adapters
