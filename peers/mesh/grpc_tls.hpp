// gRPC's credentials of PEM files.
#pragma once

#include <grpcpp/grpcpp.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>

#include "mesh/options.hpp"

namespace mesh {

inline std::string read_pem(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(path + " cannot be read");
    return {std::istreambuf_iterator<char>(file), {}};
}

/// Of a client that lists its replicas.
inline std::shared_ptr<grpc::ChannelCredentials> client_credentials(const Certificates& tls) {
    if (tls.authorities.empty()) return grpc::InsecureChannelCredentials();
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = read_pem(tls.authorities);
    options.pem_private_key = read_pem(tls.key);
    options.pem_cert_chain = read_pem(tls.certificate);
    return grpc::SslCredentials(options);
}

/// Of a server: clients must present a certificate.
inline std::shared_ptr<grpc::ServerCredentials> server_credentials(const Certificates& tls) {
    if (tls.certificate.empty()) return grpc::InsecureServerCredentials();
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = read_pem(tls.authorities);
    options.pem_key_cert_pairs.push_back({read_pem(tls.key), read_pem(tls.certificate)});
    return grpc::SslServerCredentials(options);
}

}  // namespace mesh
