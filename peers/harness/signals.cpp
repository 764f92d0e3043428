#include "harness/signals.hpp"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

namespace peers {

namespace {
int checked(int fd, const char* what) {
    if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
    return fd;
}
}  // namespace

TerminationSignals::TerminationSignals() : fd_(-1) {
    std::signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    fd_ = checked(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), "signalfd");
}

TerminationSignals::~TerminationSignals() { close(fd_); }

bool TerminationSignals::take() noexcept {
    signalfd_siginfo info{};
    return read(fd_, &info, sizeof info) == sizeof info;
}

Tally::Tally() : fd_(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {}

Tally::~Tally() { close(fd_); }

void Tally::add() noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = write(fd_, &one, sizeof one);
}

std::uint64_t Tally::take() noexcept {
    std::uint64_t sum = 0;
    return read(fd_, &sum, sizeof sum) == sizeof sum ? sum : 0;
}

}  // namespace peers
