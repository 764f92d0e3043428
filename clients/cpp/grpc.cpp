// The GUTI service over gRPC, with gRPC C++'s synchronous stub.
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>

#include "guti.grpc.pb.h"
#include "guti.hpp"

using namespace std::chrono_literals;

class GrpcClient {
  public:
    GrpcClient(const std::string& server, const std::string& certificates)
        : stub_(guti::v1::GutiService::NewStub(
              grpc::CreateChannel(server, credentials(certificates)))) {}

    Guti allocate(const std::string& payload) {
        guti::v1::AllocateRequest request;
        request.set_payload(payload);
        guti::v1::AllocateResponse response;
        auto context = within(10s);
        expect(answer(stub_->Allocate(context.get(), request, &response)), "OK");
        if (response.payload() != payload) throw std::runtime_error("another payload came back");
        const auto& guti = response.guti();
        return {guti.mcc(),     guti.mnc(),         guti.mnc_digits(), guti.amf_region(),
                guti.amf_set(), guti.amf_pointer(), guti.tmsi()};
    }

    Answer deallocate(const Guti& guti) {
        guti::v1::DeallocateRequest request;
        auto* numbers = request.mutable_guti();
        numbers->set_mcc(guti.mcc);
        numbers->set_mnc(guti.mnc);
        numbers->set_mnc_digits(guti.mnc_digits);
        numbers->set_amf_region(guti.amf_region);
        numbers->set_amf_set(guti.amf_set);
        numbers->set_amf_pointer(guti.amf_pointer);
        numbers->set_tmsi(guti.tmsi);
        guti::v1::DeallocateResponse response;
        auto context = within(10s);
        return answer(stub_->Deallocate(context.get(), request, &response));
    }

    /// A stream that nothing is sent on.
    Answer hang() {
        auto context = within(200ms);
        const auto stream = stub_->AllocateStream(context.get());
        guti::v1::AllocateResponse response;
        while (stream->Read(&response)) {
        }
        return answer(stream->Finish());
    }

  private:
    static std::shared_ptr<grpc::ChannelCredentials> credentials(const std::string& certificates) {
        if (certificates.empty()) return grpc::InsecureChannelCredentials();
        grpc::SslCredentialsOptions options;
        options.pem_root_certs = read(certificates + "/authority.pem");
        options.pem_cert_chain = read(certificates + "/client.pem");
        options.pem_private_key = read(certificates + "/client.key");
        return grpc::SslCredentials(options);
    }

    static std::string read(const std::string& path) {
        std::ifstream file(path);
        if (!file) throw std::runtime_error("cannot read " + path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    static std::unique_ptr<grpc::ClientContext> within(std::chrono::milliseconds time) {
        auto context = std::make_unique<grpc::ClientContext>();
        context->set_deadline(std::chrono::system_clock::now() + time);
        return context;
    }

    static Answer answer(const grpc::Status& status) {
        switch (status.error_code()) {
            case grpc::StatusCode::OK:
                return {"OK", ""};
            case grpc::StatusCode::NOT_FOUND:
                return {"NOT_FOUND", status.error_message()};
            case grpc::StatusCode::DEADLINE_EXCEEDED:
                return {"DEADLINE_EXCEEDED", status.error_message()};
            default:
                return {"code " + std::to_string(status.error_code()), status.error_message()};
        }
    }

    std::unique_ptr<guti::v1::GutiService::Stub> stub_;
};

int main(int argc, char** argv) { return main_of<GrpcClient>(argc, argv); }
