//! The few places that need unsafe: sockets, epoll, eventfd, nghttp2.
