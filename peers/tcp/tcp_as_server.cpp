#include "tcp/tcp_as_server.hpp"

#include <stdexcept>

#include "tcp/tcp_as_message.hpp"

namespace peers::tcp_as {

PoolServer::PoolServer(const Endpoint& listen, Allocator& allocator)
    : allocator_(allocator), listener_(listen_on(listen)) {
    for (Worker& worker : workers_) {
        worker.thread = std::thread([this, &worker] { work(worker); });
    }
    acceptor_ = std::thread([this] { accept_all(); });
}

PoolServer::~PoolServer() {
    listener_.shut_down();
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        for (Worker& worker : workers_) {
            if (worker.connection) worker.connection.shut_down();
        }
    }
    changed_.notify_all();
    acceptor_.join();
    for (Worker& worker : workers_) worker.thread.join();
}

void PoolServer::accept_all() {
    while (Socket connection = accept_from(listener_)) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stopping_ || idle_ > waiting_.size(); });
        if (stopping_) return;
        waiting_.push_back(std::move(connection));
        changed_.notify_all();
    }
}

void PoolServer::work(Worker& worker) {
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        changed_.notify_all();
        changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
        if (stopping_) return;
        --idle_;
        worker.connection = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        serve(worker.connection);
        lock.lock();
        worker.connection = Socket();
    }
}

void PoolServer::serve(const Socket& connection) {
    try {
        Header header{};
        std::vector<std::uint8_t> body;
        while (receive(connection, header, body)) {
            const std::vector<std::uint8_t> message = answer(header, body);
            connection.send_all(message.data(), message.size());
        }
    } catch (const std::runtime_error&) {
        // The client has gone or talks nonsense; the worker takes the next one.
    }
}

std::vector<std::uint8_t> PoolServer::answer(const Header& header,
                                             const std::vector<std::uint8_t>& body) {
    std::int32_t status = kNotUnderstood;
    if (header.type == Type::allocate_request) {
        GutiOnWire guti{};
        status = allocator_.allocate(guti);
        if (status == 0) {
            const std::string_view payload(reinterpret_cast<const char*>(body.data()), body.size());
            return marshal(Type::allocate_response, header.tag, bytes_of(guti), payload);
        }
    } else if (header.type == Type::deallocate_request) {
        GutiOnWire guti{};
        if (read_struct(body, guti)) {
            status = allocator_.deallocate(guti);
            if (status == 0) return marshal(Type::deallocate_response, header.tag, {});
        }
    }
    return marshal(Type::failure, header.tag, bytes_of(status));
}

}  // namespace peers::tcp_as
