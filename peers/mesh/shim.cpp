#include "mesh/shim.hpp"

namespace mesh {

namespace {

void copy(const HttpMessage& http, nsmf_pdusession::v1::HttpMessage& message) {
    message.set_method(http.method);
    message.set_path(http.path);
    message.set_status(http.status);
    message.set_body(http.body);
}

/// gRPC keeps these names to itself.
std::string carried(const std::string& name) {
    return name == "content-type" ? "sbi-content-type" : name;
}

}  // namespace

void to_grpc(const HttpMessage& http, nsmf_pdusession::v1::HttpMessage& message,
             grpc::ClientContext& context) {
    copy(http, message);
    for (const auto& [name, value] : http.headers) context.AddMetadata(carried(name), value);
}

void to_grpc(const HttpMessage& http, nsmf_pdusession::v1::HttpMessage& message,
             grpc::ServerContext& context) {
    copy(http, message);
    for (const auto& [name, value] : http.headers) {
        context.AddInitialMetadata(carried(name), value);
    }
}

HttpMessage from_grpc(const nsmf_pdusession::v1::HttpMessage& message, const Metadata& metadata) {
    HttpMessage http{message.method(), message.path(), message.status(), {}, message.body()};
    for (const auto& [name, value] : metadata) {
        http.headers.emplace(std::string(name.data(), name.size()),
                             std::string(value.data(), value.size()));
    }
    return http;
}

std::string value_of(const Metadata& metadata, const char* name) {
    const auto found = metadata.find(name);
    if (found == metadata.end()) return {};
    return {found->second.data(), found->second.size()};
}

}  // namespace mesh
