// The paper's shim: to the application a call is HTTP/2-shaped, as it was with the HTTP/2 library
// before; underneath it is a gRPC call. SBI headers travel as gRPC metadata, the body is copied as
// bytes ("Toward 6G Core Architecture Using an Inline Service Mesh", section 2.1).
#pragma once

#include <grpcpp/grpcpp.h>

#include <map>
#include <string>

#include "sm_contexts.pb.h"

namespace mesh {

/// A message as the HTTP/2 upper layer hands it to and fro.
struct HttpMessage {
    std::string method;
    std::string path;
    unsigned status = 0;
    std::map<std::string, std::string> headers;
    std::string body;
};

using Metadata = std::multimap<grpc::string_ref, grpc::string_ref>;

/// Of a call that goes out.
void to_grpc(const HttpMessage& http, nsmf_pdusession::v1::HttpMessage& message,
             grpc::ClientContext& context);
/// Of an answer that goes back.
void to_grpc(const HttpMessage& http, nsmf_pdusession::v1::HttpMessage& message,
             grpc::ServerContext& context);
/// What came in, with the metadata that came with it.
HttpMessage from_grpc(const nsmf_pdusession::v1::HttpMessage& message, const Metadata& metadata);

/// The value of a name; empty when there is none.
std::string value_of(const Metadata& metadata, const char* name);

}  // namespace mesh
