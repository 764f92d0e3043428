//! What a call costs, counted and not timed: allocations, and calls to the kernel for sockets and for
//! waiting on them. These tests fail when either grows.
//!
//! The kernel's calls are counted where the program calls the C library: this program's own `recv` and
//! so on stand in front of the library's, count and make the call.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(
    unsafe_code,
    reason = "counting takes a global allocator and functions in front of the C library's"
)]

use corewire_message::blocking::Caller as _;
use corewire_message::{
    Body, CallContext, CallKind, Caller as _, Event, Inbound, Operation, Outbound, Request,
    Response, Service,
};
use corewire_transport::{
    Address, ClientOptions, Endpoint, EventLoop, Protocol, Server, ServerOptions, blocking,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::arch::asm;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static RECEIVES: AtomicU64 = AtomicU64::new(0);
static SENDS: AtomicU64 = AtomicU64::new(0);
static WAITS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: every call is handed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const SENDTO: i64 = 44;
const RECVFROM: i64 = 45;
const SENDMSG: i64 = 46;
const FUTEX: i64 = 202;
const EPOLL_PWAIT2: i64 = 441;

unsafe extern "C" {
    fn __errno_location() -> *mut i32;
}

/// Makes the call as the C library's `syscall` does.
///
/// # Safety
/// As the kernel has it for this call.
unsafe fn call_kernel(number: i64, a: [i64; 6]) -> i64 {
    let result: i64;
    // SAFETY: the registers are those of the kernel's convention, and what it overwrites is named.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number => result,
            in("rdi") a[0], in("rsi") a[1], in("rdx") a[2],
            in("r10") a[3], in("r8") a[4], in("r9") a[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    if (-4095..0).contains(&result) {
        // SAFETY: the C library gives the place of this thread's errno.
        unsafe { *__errno_location() = -result as i32 };
        return -1;
    }
    result
}

/// In front of the C library's. Its callers give as many arguments as the call takes, all in registers
/// but the last; what is more is not looked at by the kernel.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(n: i64, a: i64, b: i64, c: i64, d: i64, e: i64, f: i64) -> i64 {
    if n == EPOLL_PWAIT2 || n == FUTEX {
        WAITS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the caller keeps the contract of the call.
    unsafe { call_kernel(n, [a, b, c, d, e, f]) }
}

/// In front of the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn recv(fd: i32, to: i64, length: i64, flags: i32) -> i64 {
    RECEIVES.fetch_add(1, Ordering::Relaxed);
    let arguments = [fd.into(), to, length, flags.into(), 0, 0];
    // SAFETY: the caller keeps the contract of `recv`.
    unsafe { call_kernel(RECVFROM, arguments) }
}

/// In front of the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn send(fd: i32, from: i64, length: i64, flags: i32) -> i64 {
    SENDS.fetch_add(1, Ordering::Relaxed);
    let arguments = [fd.into(), from, length, flags.into(), 0, 0];
    // SAFETY: the caller keeps the contract of `send`.
    unsafe { call_kernel(SENDTO, arguments) }
}

/// In front of the C library's.
#[unsafe(no_mangle)]
unsafe extern "C" fn sendmsg(fd: i32, message: i64, flags: i32) -> i64 {
    SENDS.fetch_add(1, Ordering::Relaxed);
    let arguments = [fd.into(), message, flags.into(), 0, 0, 0];
    // SAFETY: the caller keeps the contract of `sendmsg`.
    unsafe { call_kernel(SENDMSG, arguments) }
}

/// What was counted.
#[derive(Clone, Copy, Debug)]
struct Costs {
    allocations: u64,
    receives: u64,
    sends: u64,
    waits: u64,
}

impl Costs {
    fn now() -> Self {
        Self {
            allocations: ALLOCATIONS.load(Ordering::SeqCst),
            receives: RECEIVES.load(Ordering::SeqCst),
            sends: SENDS.load(Ordering::SeqCst),
            waits: WAITS.load(Ordering::SeqCst),
        }
    }

    fn since(before: Self) -> Self {
        let now = Self::now();
        Self {
            allocations: now.allocations - before.allocations,
            receives: now.receives - before.receives,
            sends: now.sends - before.sends,
            waits: now.waits - before.waits,
        }
    }
}

const ECHO: Operation = Operation::from_static("test.v1.Test/Echo");

struct Echo;

impl Service for Echo {
    fn kind(&self, _operation: &Operation) -> Option<CallKind> {
        Some(CallKind::Unary)
    }

    async fn call(&self, _context: &CallContext, request: Request) -> Response {
        Response::ok(request.body)
    }

    async fn stream(&self, _: &CallContext, _: Request, _: Inbound, _: Outbound) -> Response {
        Response::ok(Body::new())
    }

    async fn event(&self, _context: &CallContext, _event: Event) {}
}

/// The counters are the process's: one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn service(protocol: Protocol) -> (Server, Endpoint) {
    let mut options = ServerOptions::default();
    options.loops = 1;
    // How often who is patient asks depends on how fast the machine is.
    options.patience = Duration::ZERO;
    let anywhere = Address::Tcp(([127, 0, 0, 1], 0).into());
    let server = Server::start(&[anywhere], Arc::new(Echo), options).unwrap();
    let endpoint = Endpoint::new(protocol, server.addresses()[0].clone());
    (server, endpoint)
}

fn ends(protocol: Protocol) -> (Server, blocking::Client) {
    let (server, endpoint) = service(protocol);
    let mut options = ClientOptions::default();
    // As above.
    options.patience = Duration::ZERO;
    let client = blocking::Client::connect(endpoint, options).unwrap();
    (server, client)
}

const CALLS: u64 = 500;
/// Of bodies: none, one that is copied beside its frame's head, one that is shared.
const LENGTHS: [usize; 3] = [0, 1000, 10_000];

fn costs_of_calls(client: &blocking::Client, body: &Body) -> Costs {
    let run = || {
        for _ in 0..CALLS {
            client
                .call(Request::new(ECHO).with_body(body.clone()))
                .unwrap();
        }
    };
    // Until everything has its size.
    run();
    let before = Costs::now();
    run();
    Costs::since(before)
}

#[test]
fn a_lone_blocking_call_makes_five_calls_to_the_kernel_and_no_allocation() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for protocol in Protocol::ALL {
        let (_server, client) = ends(protocol);
        for length in LENGTHS {
            let costs = costs_of_calls(&client, &Body::from(vec![7; length]));
            let what = format!("{protocol}, {length}: {costs:?}");
            // A few may be for timers, and for what the test's own surroundings do.
            let few = CALLS / 20;
            let within =
                |count: u64, a_call: u64| (a_call * CALLS..=a_call * CALLS + few).contains(&count);
            // Caller: send, receive. Service: wait, receive, send.
            assert!(within(costs.sends, 2), "{what}");
            assert!(within(costs.receives, 2), "{what}");
            assert!(costs.waits <= CALLS + few, "{what}");
            assert!(costs.allocations <= few, "{what}");
        }
    }
}

/// What `at_once` calls at a time cost on the caller's event loop.
fn costs_of_futures(protocol: Protocol, at_once: usize, body: &Body) -> Costs {
    let (_server, endpoint) = service(protocol);
    let mut event_loop = EventLoop::new().unwrap();
    let client = event_loop
        .handle()
        .connect(endpoint, ClientOptions::default());
    let run = async || {
        for _ in 0..CALLS / at_once as u64 {
            let call = || client.call(Request::new(ECHO).with_body(body.clone()));
            let mut calls: [_; 16] = std::array::from_fn(|_| None);
            for place in calls.iter_mut().take(at_once) {
                *place = Some(Box::pin(call()));
            }
            // All of them are polled first, and go out together.
            std::future::poll_fn(|context| {
                for place in &mut calls {
                    if let Some(future) = place
                        && let Poll::Ready(response) = future.as_mut().poll(context)
                    {
                        response.unwrap();
                        *place = None;
                    }
                }
                if calls.iter().all(Option::is_none) {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
            .await;
        }
    };
    let counted = async {
        run().await;
        let before = Costs::now();
        run().await;
        Costs::since(before)
    };
    event_loop.block_on(counted).unwrap()
}

#[test]
fn an_asynchronous_call_makes_six_calls_to_the_kernel_and_one_allocation() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let few = CALLS / 20;
    for protocol in Protocol::ALL {
        for length in LENGTHS {
            let costs = costs_of_futures(protocol, 1, &Body::from(vec![7; length]));
            let what = format!("{protocol}, {length}: {costs:?}");
            // Caller and service: wait, receive, send. The test itself allocates once a call.
            assert!(costs.sends <= 2 * CALLS + few, "{what}");
            assert!(costs.receives <= 2 * CALLS + few, "{what}");
            assert!(costs.waits <= 2 * CALLS + few, "{what}");
            assert!(costs.allocations <= 2 * CALLS + few, "{what}");
            assert!(costs.sends >= 2 * CALLS, "nothing was counted: {what}");
        }
    }
}

#[test]
fn asynchronous_calls_at_a_time_share_their_calls_to_the_kernel() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for protocol in Protocol::ALL {
        let costs = costs_of_futures(protocol, 16, &Body::new());
        // Sixteen go with two writes, so that both ends work at once; their answers come with as many,
        // and may come in pieces. One by one would make 2 * CALLS of each.
        for count in [costs.sends, costs.receives, costs.waits] {
            assert!(count <= 2 * CALLS / 5, "{protocol}: {costs:?}");
        }
    }
}

#[test]
fn callers_that_share_a_connection_make_fewer_calls_to_the_kernel_each() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for protocol in Protocol::ALL {
        let (_server, client) = ends(protocol);
        let callers = 16;
        let before = Costs::now();
        std::thread::scope(|scope| {
            for _ in 0..callers {
                scope.spawn(|| costs_of_calls(&client, &Body::new()));
            }
        });
        let costs = Costs::since(before);
        let calls = 2 * CALLS * callers;
        let what = format!("{protocol}: {costs:?} in {calls} calls");
        // How many come together is the scheduler's; without combining each call writes for itself, and
        // so does most of the service's answers.
        assert!(costs.sends < calls * 3 / 2, "{what}");
        assert!(costs.allocations < calls * 3 / 2, "{what}");
    }
}
