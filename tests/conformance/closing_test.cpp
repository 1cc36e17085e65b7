#include <algorithm>
#include <atomic>
#include <vector>

#include <poll.h>

#include "peer.hpp"

namespace heddle::conformance {
namespace {

/// Waits, in a fiber, until one more read waits than `before`.
bool one_more_read_waits(runtime_base& runtime, std::uint64_t before) {
  return eventually([&] { return runtime.stats().suspended_reads > before; });
}

bool is_writable(const socket& one) {
  pollfd look{one.native_handle(), POLLOUT, 0};
  return ::poll(&look, 1, 0) != 0;
}

/// A fiber that writes to a peer that never reads.
class stuck_writer {
 public:
  explicit stuck_writer(socket& to)
      : to_(to), fiber_(spawn([this] {
          const std::string data(1 << 20, 'x');
          for (;;) {
            in_call_ = true;
            const std::error_code error = to_.write(bytes_of(data)).error();
            in_call_ = false;
            if (error) return error;
          }
        })) {}

  /// Waits until the buffers are full to stay and the writer is in a call that cannot return.
  void await_stuck() {
    int looks = 0;
    EXPECT_TRUE(eventually([&] {
      EXPECT_TRUE(succeeded(sleep_for(1ms)));
      looks = is_writable(to_) ? 0 : looks + 1;
      return looks >= 3 && in_call_;
    }));
  }

  std::error_code join() { return fiber_.join(); }

 private:
  socket& to_;
  std::atomic<bool> in_call_{false};
  join_handle<std::error_code> fiber_;
};

TEST(closing, a_second_close_and_every_later_call_say_bad_file_descriptor) {
  auto runtime = make_runtime(2);
  runtime->run([] {
    connection pair = connect_pair();
    std::array<std::byte, 8> buffer;
    EXPECT_TRUE(pair.near.is_open());
    EXPECT_TRUE(succeeded(pair.near.close()));
    EXPECT_FALSE(pair.near.is_open());
    EXPECT_EQ(pair.near.native_handle(), -1);
    EXPECT_TRUE(failed_with(pair.near.close(), std::errc::bad_file_descriptor));
    EXPECT_TRUE(failed_with(pair.near.read(buffer), std::errc::bad_file_descriptor));
    EXPECT_TRUE(failed_with(pair.near.write(buffer), std::errc::bad_file_descriptor));
    EXPECT_TRUE(failed_with(pair.near.write_all(buffer), std::errc::bad_file_descriptor));
    EXPECT_TRUE(failed_with(pair.near.shutdown(SHUT_WR), std::errc::bad_file_descriptor));
    EXPECT_TRUE(failed_with(pair.near.local_endpoint(), std::errc::bad_file_descriptor));
    EXPECT_EQ(pair.far.read(buffer).value_or(1), 0u);
    listener listening = listen_on_loopback();
    EXPECT_TRUE(succeeded(listening.close()));
    EXPECT_TRUE(failed_with(listening.close(), std::errc::bad_file_descriptor));
    EXPECT_TRUE(failed_with(listening.accept(), std::errc::bad_file_descriptor));
    socket never_open;
    EXPECT_TRUE(failed_with(never_open.close(), std::errc::bad_file_descriptor));
    EXPECT_TRUE(failed_with(never_open.read(buffer), std::errc::bad_file_descriptor));
  });
}

TEST(closing, a_moved_socket_is_open_in_one_place) {
  auto runtime = make_runtime(1);
  const std::size_t before = open_descriptors();
  runtime->run([] {
    connection pair = connect_pair();
    socket other = std::move(pair.near);
    EXPECT_FALSE(pair.near.is_open());
    EXPECT_TRUE(other.is_open());
    other = std::move(pair.far);  // closes what it had
    std::array<std::byte, 8> buffer;
    EXPECT_EQ(other.read(buffer).value_or(1), 0u);
  });
  EXPECT_EQ(open_descriptors(), before);
}

TEST(closing, a_close_beside_a_waiting_read_cancels_it_and_the_peer_sees_the_end) {
  auto runtime = make_runtime(2);
  const std::size_t before = open_descriptors();
  for (std::size_t round = 0; round < scaled(100); ++round) {
    runtime->run([&] {
      connection pair = connect_pair();
      std::array<std::byte, 8> buffer{};
      const std::uint64_t waits = runtime->stats().suspended_reads;
      auto reader = spawn([&] { return pair.far.read(buffer); });
      if (round % 2 == 0) {
        EXPECT_TRUE(one_more_read_waits(*runtime, waits));
      }
      EXPECT_TRUE(succeeded(pair.far.close()));
      const auto outcome = reader.join();
      // Without the wait the close may come first.
      if (round % 2 == 0 || outcome.error() != std::errc::bad_file_descriptor) {
        EXPECT_TRUE(failed_with(outcome, std::errc::operation_canceled));
      }
      EXPECT_TRUE(read_exactly(pair.near, 8).empty());  // the peer sees FIN
      // Nothing that is sent later arrives anywhere.
      static_cast<void>(pair.near.write(bytes_of("late")));
      EXPECT_TRUE(succeeded(sleep_for(100us)));
      EXPECT_EQ(buffer, (std::array<std::byte, 8>{}));
    });
  }
  expect_quiet(*runtime);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(closing, a_close_beside_a_waiting_accept_write_or_timed_read_cancels_it) {
  auto runtime = make_runtime(2);
  for (std::size_t round = 0; round < scaled(20); ++round) {
    runtime->run([&] {
      listener listening = listen_on_loopback();
      connection pair = connect_pair();
      std::array<std::byte, 8> buffer;
      const std::uint64_t waits = runtime->stats().suspended_reads;
      auto acceptor = spawn([&] { return listening.accept().error(); });
      auto reader = spawn([&] { return pair.far.read(buffer, 1h).error(); });
      stuck_writer writer(pair.far);
      EXPECT_TRUE(eventually([&] { return runtime->stats().suspended_reads >= waits + 2; }));
      writer.await_stuck();
      EXPECT_TRUE(succeeded(listening.close()));
      EXPECT_TRUE(succeeded(pair.far.close()));
      EXPECT_EQ(acceptor.join(), std::errc::operation_canceled);
      EXPECT_EQ(reader.join(), std::errc::operation_canceled);
      EXPECT_EQ(writer.join(), std::errc::operation_canceled);
    });
    expect_quiet(*runtime);
  }
}

// Field report 16: libdill#129.
TEST(closing, a_reader_of_a_closed_socket_never_sees_the_data_of_the_next_with_its_number) {
  auto runtime = make_runtime(2);
  std::size_t same_number = 0;
  runtime->run([&] {
    listener listening = listen_on_loopback();
    const endpoint address = listening.local_endpoint().value();
    for (std::size_t i = 0; i < scaled(1000); ++i) {
      connection pair = connect_pair();
      std::array<std::byte, 8> buffer{};
      const int number = pair.far.native_handle();
      const std::uint64_t waits = runtime->stats().suspended_reads;
      auto reader = spawn([&] { return pair.far.read(buffer); });
      EXPECT_TRUE(one_more_read_waits(*runtime, waits));
      EXPECT_TRUE(succeeded(pair.far.close()));
      if (i % 2 == 0) this_fiber::yield();
      socket next = socket::connect(address, patience).value();
      socket other_end = listening.accept(patience).value();
      for (socket* side : {&next, &other_end}) {
        if (side->native_handle() != number) continue;
        ++same_number;
        socket& sender = side == &next ? other_end : next;
        EXPECT_TRUE(succeeded(sender.write_all(bytes_of("for new"))));
        EXPECT_EQ(read_exactly(*side, 7), "for new");
      }
      EXPECT_TRUE(failed_with(reader.join(), std::errc::operation_canceled));
      EXPECT_EQ(buffer, (std::array<std::byte, 8>{}));
    }
  });
  EXPECT_GT(same_number, 0u) << "no number was used again: the test showed nothing";
  expect_quiet(*runtime);
}

TEST(closing, sockets_that_open_and_close_under_traffic_never_mix_their_data) {
  auto runtime = make_runtime(4);
  std::atomic<std::size_t> exchanged{0};
  const std::size_t each = scaled(1500);
  runtime->run([&] {
    for (unsigned pairs = 0; pairs < 16; ++pairs) {
      spawn([&, pairs] {
        listener listening = listen_on_loopback();
        const endpoint address = listening.local_endpoint().value();
        for (std::size_t i = 0; i < each; ++i) {
          auto other = spawn([&] { return listening.accept(patience).value(); });
          socket near = socket::connect(address, patience).value();
          socket far = other.join();
          const std::string text = std::to_string(pairs) + ":" + std::to_string(i) + ";";
          auto reader = spawn([&] { return read_exactly(far, text.size()); });
          if (i % 3 != 0) this_fiber::yield();
          EXPECT_TRUE(succeeded(near.write_all(bytes_of(text))));
          ASSERT_EQ(reader.join(), text);
          if (i % 2 == 0) {
            std::array<std::byte, 8> buffer;
            auto idle = spawn([&] { return far.read(buffer).error(); });
            if (i % 4 == 0) this_fiber::yield();
            EXPECT_TRUE(succeeded(far.close()));
            const std::error_code ended = idle.join();
            ASSERT_TRUE(ended == std::errc::operation_canceled ||
                        ended == std::errc::bad_file_descriptor)
                << ended.message();
          }
          ++exchanged;
        }
      });
    }
  });
  EXPECT_EQ(exchanged, 16 * each);
  expect_quiet(*runtime);
}

TEST(closing, a_plain_thread_may_close_what_a_fiber_reads_and_end_the_run_with_it) {
  for (std::size_t i = 0; i < scaled(500); ++i) {
    auto runtime = make_runtime(2);
    std::atomic<bool> waits{false};
    socket far;
    plain_thread closer([&] {
      while (!waits) native::pause();
      for (std::size_t pause = 0; pause < i; ++pause) native::pause();
      EXPECT_TRUE(succeeded(far.close()));
    });
    runtime->run([&] {
      connection pair = connect_pair();
      far = std::move(pair.far);
      std::array<std::byte, 8> buffer;
      waits = true;
      const auto outcome = far.read(buffer);
      EXPECT_TRUE(outcome.error() == std::errc::operation_canceled ||
                  outcome.error() == std::errc::bad_file_descriptor)
          << outcome.error().message();
    });
    // The closer may still be on its way out of close(): it must not need the runtime any more.
    runtime.reset();
  }
}

TEST(closing, a_reset_reaches_a_waiting_read_and_a_waiting_write) {
  auto runtime = make_runtime(2);
  std::atomic<int> resets{0};
  const auto both = [&](socket client) {
    const std::string data(16 << 20, 'x');
    auto writer = spawn([&] { return client.write_all(bytes_of(data)).error(); });
    std::array<std::byte, 8> buffer;
    const std::error_code read = client.read(buffer).error();
    const std::error_code written = writer.join();
    // One of the two is told of the reset; the other may find the connection gone.
    for (const std::error_code& error : {read, written}) {
      EXPECT_TRUE(error == std::errc::connection_reset || error == std::errc::broken_pipe || !error)
          << error.message();
    }
    EXPECT_TRUE(read == std::errc::connection_reset || written == std::errc::connection_reset);
    EXPECT_TRUE(written) << "16 MiB went to a peer that was gone";
    ++resets;
  };
  serve(*runtime, both, [&](const endpoint& address) {
    for (int i = 0; i < 20; ++i) {
      peer client(address);
      EXPECT_FALSE(client.receive(1).empty());
      if (i % 2 == 0) std::this_thread::sleep_for(1ms);
      client.reset();
      EXPECT_TRUE(eventually([&] { return resets == i + 1; }));
    }
  });
}

TEST(closing, a_reset_of_an_idle_connection_reaches_its_read) {
  auto runtime = make_runtime(2);
  std::atomic<int> resets{0};
  const auto reader = [&](socket client) {
    std::array<std::byte, 8> buffer;
    EXPECT_TRUE(failed_with(client.read(buffer), std::errc::connection_reset));
    // The error is told once; then the stream has ended.
    EXPECT_EQ(client.read(buffer).value_or(1), 0u);
    EXPECT_TRUE(failed_with(client.write(buffer), std::errc::broken_pipe));
    ++resets;
  };
  serve(*runtime, reader, [&](const endpoint& address) {
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t waits = runtime->stats().suspended_reads;
      peer client(address);
      if (i % 2 == 0) {
        EXPECT_TRUE(one_more_read_waits(*runtime, waits));
      }
      client.reset();
    }
    EXPECT_TRUE(eventually([&] { return resets == 100; }));
  });
}

// Field report 25: mordor#18.
TEST(closing, a_read_that_moves_and_then_fails_returns_its_own_error) {
  auto runtime = make_runtime(4);
  const std::size_t count = scaled(200);
  std::atomic<std::size_t> failed{0};
  std::atomic<bool> over{false};
  const auto reader = [&](socket client) {
    std::array<std::byte, 8> buffer;
    for (int i = 0; i < 3; ++i) this_fiber::yield();
    EXPECT_TRUE(failed_with(client.read(buffer), std::errc::connection_reset));
    ++failed;
  };
  serve(*runtime, reader, [&](const endpoint& address) {
    // Other fibers fail otherwise meanwhile, on the same threads.
    std::vector<join_handle<void>> others;
    for (int i = 0; i < 4; ++i) {
      others.push_back(runtime->spawn([&] {
        const endpoint nobody("127.0.0.1", 1);
        while (!over) {
          EXPECT_TRUE(failed_with(socket::connect(nobody), std::errc::connection_refused));
          ::close(-1);
        }
      }));
    }
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<peer> clients;
      for (int k = 0; k < 8; ++k) clients.emplace_back(address);
      for (peer& client : clients) client.reset();
      // No more than the backlog holds.
      EXPECT_TRUE(eventually([&] { return failed + 400 > 8 * i; }));
    }
    EXPECT_TRUE(eventually([&] { return failed == 8 * count; }));
    over = true;
    for (auto& other : others) other.join();
  });
}

}  // namespace
}  // namespace heddle::conformance
