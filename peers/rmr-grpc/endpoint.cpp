#include "rmr-grpc/endpoint.hpp"

#include <utility>

namespace peers::rmr_grpc {

namespace {

constexpr std::chrono::milliseconds kConnectTime{3000};
/// A receiver that was restarted is found again within this time.
constexpr int kReconnectMilliseconds = 100;

/// Completions name the member that they end.
void* tag(bool& outstanding) noexcept { return &outstanding; }

std::shared_ptr<grpc::Channel> make_channel(const std::string& name) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMilliseconds);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMilliseconds);
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    return grpc::CreateCustomChannel(name, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace

Endpoint::Endpoint(std::string name, bool buffer_hint)
    : name_(std::move(name)), buffer_hint_(buffer_hint) {}

Endpoint::~Endpoint() {
    end_stream();
    queue_.Shutdown();
    void* ended = nullptr;
    bool ok = false;
    while (queue_.Next(&ended, &ok)) {
    }
}

Endpoint::Outcome Endpoint::send(std::string_view octets, std::chrono::microseconds patience) {
    const std::lock_guard lock(mutex_);
    if (writing_ && !await(writing_, Clock::now() + patience)) {
        return Outcome::kBusy;
    }
    if ((broken_ || !stream_) && !connect()) {
        return Outcome::kUnreachable;
    }
    count_lost();
    write(octets, buffer_hint_);
    // Most often gRPC has written it by now and the answer is there without asking the socket.
    while (writing_ && take_completion(Clock::time_point{})) {
    }
    if (std::exchange(lost_, false)) {
        return Outcome::kUnreachable;  // the caller still has it
    }
    needs_care_.store(writing_ || gathered_, std::memory_order_relaxed);
    return Outcome::kSent;
}

bool Endpoint::open() {
    const std::lock_guard lock(mutex_);
    return (stream_ && !broken_) || connect();
}

bool Endpoint::is_open() {
    const std::lock_guard lock(mutex_);
    while (stream_ && take_completion(Clock::time_point{})) {
    }
    return stream_ && !broken_;
}

bool Endpoint::connect() {
    end_stream();
    if (Clock::now() < no_attempt_before_) {
        return false;
    }
    if (!channel_) {
        channel_ = make_channel(name_);
        stub_ = pb::Receptor::NewStub(channel_);
    }
    context_ = std::make_unique<grpc::ClientContext>();
    stream_ = stub_->PrepareAsyncDeliver(context_.get(), &queue_);
    broken_ = false;
    starting_ = true;
    stream_->StartCall(tag(starting_));
    if (!await(starting_, Clock::now() + kConnectTime)) {
        // A host that does not answer holds up a sender once in a while, not at each message.
        no_attempt_before_ = Clock::now() + kConnectTime;
        broken_ = true;
    }
    if (broken_) {
        end_stream();
        return false;
    }
    // The server never sends; that this read ends says that the connection has.
    reading_ = true;
    stream_->Read(&in_, tag(reading_));
    return true;
}

void Endpoint::write(std::string_view octets, bool gather) {
    out_.set_nbytes(static_cast<std::int32_t>(octets.size()));
    out_.mutable_stuff()->assign(octets.data(), octets.size());
    grpc::WriteOptions options;
    if (gather) {
        options.set_buffer_hint();
    }
    gathered_ = gather;
    is_message_ = !octets.empty();
    writing_ = true;
    stream_->Write(out_, options, tag(writing_));
}

bool Endpoint::take_completion(Clock::time_point deadline) {
    void* ended = nullptr;
    bool ok = false;
    if (queue_.AsyncNext(&ended, &ok, deadline) != grpc::CompletionQueue::GOT_EVENT) {
        return false;
    }
    *static_cast<bool*>(ended) = false;
    lost_ = lost_ || (ended == tag(writing_) && !ok && is_message_);
    if (!ok && ended != tag(finishing_)) {
        broken_ = true;
    }
    return true;
}

bool Endpoint::await(const bool& outstanding, Clock::time_point deadline) {
    while (outstanding) {
        if (!take_completion(deadline)) {
            return false;
        }
    }
    return true;
}

void Endpoint::end_stream() {
    if (!stream_) {
        return;
    }
    context_->TryCancel();
    // Cancelled, every operation ends at once.
    while (starting_ || writing_ || reading_) {
        take_completion(Clock::time_point::max());
    }
    finishing_ = true;
    stream_->Finish(&status_, tag(finishing_));
    while (finishing_) {
        take_completion(Clock::time_point::max());
    }
    count_lost();
    stream_.reset();
    context_.reset();
    gathered_ = false;
    needs_care_ = false;
}

void Endpoint::count_lost() {
    if (std::exchange(lost_, false)) {
        ++dropped_;
    }
}

void Endpoint::look_after() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || !stream_) {
        return;  // somebody sends: who sends takes care
    }
    while (take_completion(Clock::time_point{})) {
    }
    count_lost();
    if (broken_) {
        end_stream();
        return;
    }
    if (gathered_ && !writing_) {
        // gRPC has no flush; an empty Bob without the hint pushes out what it holds back, and the
        // receptor passes over it.
        write({}, false);
        while (writing_ && take_completion(Clock::time_point{})) {
        }
    }
    needs_care_.store(writing_ || gathered_, std::memory_order_relaxed);
}

void Endpoint::close(std::chrono::milliseconds patience) {
    const std::lock_guard lock(mutex_);
    if (!stream_) {
        return;
    }
    const auto deadline = Clock::now() + patience;
    if (!broken_ && await(writing_, deadline) && !broken_) {
        writing_ = true;
        is_message_ = false;
        stream_->WritesDone(tag(writing_));
        // The receptor ends when it has read everything, and so does our read.
        await(reading_, deadline);
    }
    end_stream();
}

}  // namespace peers::rmr_grpc
