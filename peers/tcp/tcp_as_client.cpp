#include "tcp/tcp_as_client.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace peers::tcp_as {

Connection::Connection(const Endpoint& server) : socket_(connect_to(server)) {
    reader_ = std::thread([this] { read_responses(); });
}

Connection::~Connection() {
    socket_.shut_down();
    reader_.join();
}

Message Connection::call(Type type, std::string_view body) {
    std::uint64_t tag = 0;
    std::future<Message> response = expect(tag);
    try {
        const std::vector<std::uint8_t> message = marshal(type, tag, body);
        const std::lock_guard lock(send_mutex_);
        socket_.send_all(message.data(), message.size());
    } catch (const std::runtime_error& error) {
        // Part of a message may be on the wire. The reader sees the end and fails all promises.
        socket_.shut_down();
        throw CallError(error.what());
    }
    if (response.wait_for(std::chrono::seconds(kCallTimeoutSeconds)) != std::future_status::ready) {
        socket_.shut_down();
        throw CallError("no response within " + std::to_string(kCallTimeoutSeconds) + " s");
    }
    return response.get();
}

std::future<Message> Connection::expect(std::uint64_t& tag) {
    std::promise<Message> promise;
    std::future<Message> future = promise.get_future();
    const std::lock_guard lock(pending_mutex_);
    if (!broken_.empty()) throw CallError(broken_);
    tag = ++next_tag_;
    pending_.emplace_back(tag, std::move(promise));
    return future;
}

void Connection::read_responses() {
    std::string why = "the server closed the connection";
    try {
        for (Message message; receive(socket_, message.header, message.body);) {
            fulfil(std::move(message));
        }
    } catch (const std::exception& error) {
        why = error.what();
    }
    fail_all(why);
}

void Connection::fulfil(Message message) {
    std::promise<Message> promise;
    {
        const std::lock_guard lock(pending_mutex_);
        const auto it = std::find_if(pending_.begin(), pending_.end(), [&](const auto& entry) {
            return entry.first == message.header.tag;
        });
        if (it == pending_.end()) throw std::runtime_error("a response that nobody asked for");
        promise = std::move(it->second);
        pending_.erase(it);
    }
    promise.set_value(std::move(message));
}

void Connection::fail_all(const std::string& why) {
    const std::lock_guard lock(pending_mutex_);
    broken_ = why;
    for (auto& [tag, promise] : pending_) {
        promise.set_exception(std::make_exception_ptr(CallError(why)));
    }
    pending_.clear();
}

namespace {

void expect_type(const Message& message, Type type) {
    if (message.header.type == type) return;
    std::int32_t status = kNotUnderstood;
    if (message.header.type == Type::failure && read_struct(message.body, status) &&
        status != kNotUnderstood) {
        throw CallError(describe_allocator_status(status));
    }
    throw CallError("the server did not understand the request");
}

}  // namespace

Response TcpAsClient::allocate(std::string_view payload) {
    last_ = connection_->call(Type::allocate_request, payload);
    expect_type(last_, Type::allocate_response);
    GutiOnWire guti{};
    if (!read_struct(last_.body, guti)) throw CallError("the response is too short");
    const std::string_view body(reinterpret_cast<const char*>(last_.body.data()),
                                last_.body.size());
    return {guti, body.substr(sizeof guti)};
}

void TcpAsClient::deallocate(const cw_guti& guti) {
    last_ = connection_->call(Type::deallocate_request, bytes_of(GutiOnWire{guti}));
    expect_type(last_, Type::deallocate_response);
}

}  // namespace peers::tcp_as
