// The floor: how fast the same exchange is with the least that can be written for it. No adapter
// over the same path can be faster; how near one comes is what the lab shows.
#pragma once

#include "harness/adapter.hpp"

namespace peers {

/// A thread a connection, both sides in blocking calls.
Implementation make_floor_tcp();
/// One server thread with epoll, clients in blocking calls.
Implementation make_floor_epoll();
/// One server thread with epoll, and one client thread with epoll for all clients.
Implementation make_floor_el();
/// Neither side ever sleeps.
Implementation make_floor_spin();
/// One connection with 64 requests outstanding; answers are counted as they come.
Implementation make_floor_pipe_64();
/// Shared memory, neither side ever sleeps; or both sleep on a futex.
Implementation make_floor_shm_spin();
Implementation make_floor_shm_futex();

}  // namespace peers
