#pragma once

#include <chrono>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace peers {

namespace asio = boost::asio;
using boost::system::error_code;

// With the executor's own type instead of any_io_executor: no indirect calls.
using asio_executor = asio::io_context::executor_type;
using asio_socket = asio::basic_stream_socket<asio::ip::tcp, asio_executor>;
using asio_timer =
    asio::basic_waitable_timer<std::chrono::steady_clock,
                               asio::wait_traits<std::chrono::steady_clock>, asio_executor>;

}  // namespace peers
