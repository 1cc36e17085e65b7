#include <algorithm>
#include <atomic>
#include <numeric>
#include <random>
#include <vector>

#include "peer.hpp"

namespace heddle::conformance {
namespace {

TEST(connections, an_echo_of_random_sizes_is_exact_byte_for_byte) {
  auto runtime = make_runtime(2);
  serve(*runtime, echo, [](const endpoint& address) {
    std::vector<plain_thread> clients;
    for (unsigned client = 0; client < 4; ++client) {
      clients.emplace_back([=] {
        std::mt19937 random(client);
        peer one(address);
        for (std::size_t i = 0; i < scaled(100); ++i) {
          const std::string sent = payload(1 + random() % (i % 10 == 0 ? 200'000 : 2000), i);
          plain_thread sender([&] { one.send(sent); });
          ASSERT_TRUE(one.receive(sent.size()) == sent) << "message " << i;
        }
      });
    }
  });
}

TEST(connections, a_thousand_connections_are_served_at_once) {
  const std::size_t count = 1000;
  const std::size_t before = open_descriptors();
  auto runtime = make_runtime(2);
  serve(*runtime, echo, [&](const endpoint& address) {
    std::vector<peer> peers;
    for (std::size_t i = 0; i < count; ++i) peers.emplace_back(address);
    for (int round = 0; round < 3; ++round) {
      for (std::size_t i = 0; i < count; ++i) peers[i].send(payload(16, i));
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(peers[i].receive(16), payload(16, i));
    }
    EXPECT_GE(open_descriptors(), before + 2 * count);
  });
  runtime.reset();
  EXPECT_EQ(open_descriptors(), before);
}

// Field report 17: TinyWebServer#168.
TEST(connections, a_half_closed_client_gets_the_whole_reply) {
  auto runtime = make_runtime(2);
  const std::string reply = payload(1'000'000);
  const auto answer = [&](socket client) {
    std::string request;
    for (std::string part; !(part = read_exactly(client, 1)).empty();) request += part;
    EXPECT_EQ(request, "whole request");
    EXPECT_TRUE(succeeded(client.write_all(bytes_of(reply))));
  };
  serve(*runtime, answer, [&](const endpoint& address) {
    for (int i = 0; i < 20; ++i) {
      peer client(address);
      client.send("whole request");
      client.end_stream();
      ASSERT_TRUE(client.receive_all() == reply);
    }
  });
}

TEST(connections, data_comes_before_the_end_of_a_stream_that_was_closed_at_once) {
  auto runtime = make_runtime(2);
  for (const bool waits_before : {false, true}) {
    std::atomic<bool> closed{false};
    const auto reader = [&](socket client) {
      if (waits_before) {
        EXPECT_EQ(read_exactly(client, 1), "0");  // registered with the poller from here on
      }
      EXPECT_TRUE(eventually([&] { return closed.load(); }));
      EXPECT_EQ(read_exactly(client, 3), waits_before ? "123" : "012");
      EXPECT_TRUE(read_exactly(client, 100) == (waits_before ? "4" : "34"));
      std::array<std::byte, 8> buffer;
      for (int i = 0; i < 3; ++i) {
        const auto end = client.read(buffer);
        EXPECT_TRUE(succeeded(end));
        EXPECT_EQ(end.value_or(1), 0u);
      }
    };
    serve(*runtime, reader, [&](const endpoint& address) {
      for (int i = 0; i < 50; ++i) {
        closed = false;
        peer client(address);
        if (waits_before && i % 2 == 1) std::this_thread::sleep_for(1ms);
        client.send("01234");
        client.close();
        closed = true;
        EXPECT_TRUE(eventually([&] { return runtime->live_fibers() == 1; }));
      }
    });
  }
}

TEST(connections, a_slow_reader_gets_4_MiB_and_then_the_end) {
  auto runtime = make_runtime(2);
  const std::string data = payload(4 << 20);
  std::atomic<bool> written{false};
  const auto write = [&](socket client) {
    EXPECT_TRUE(succeeded(client.write_all(bytes_of(data))));
    written = true;
    EXPECT_TRUE(succeeded(client.shutdown(SHUT_WR)));
    EXPECT_EQ(read_exactly(client, 100), "done");
  };
  serve(*runtime, write, [&](const endpoint& address) {
    peer client(address, {.receive_buffer = 16 * 1024});
    std::this_thread::sleep_for(20ms);  // the writer stalls meanwhile
    EXPECT_FALSE(written);
    std::string received;
    for (unsigned i = 0; received.size() < data.size(); ++i) {
      const std::string part = client.receive(37'000);
      ASSERT_FALSE(part.empty());
      received += part;
      if (i % 8 == 0) std::this_thread::sleep_for(1ms);
    }
    EXPECT_TRUE(received == data);
    EXPECT_EQ(client.receive(1), "");
    client.send("done");
    client.close();
    // The end of this function stops the runtime, which would cancel the last read.
    EXPECT_TRUE(eventually([&] { return runtime->live_fibers() == 1; }));
  });
}

// Field report 20: DotNetty#348.
TEST(connections, an_echo_through_a_small_send_buffer_with_a_stop_and_go_reader_is_exact) {
  auto runtime = make_runtime(2);
  const std::size_t total = scaled(8 << 20, 64 << 20);
  const std::string data = payload(total);
  const auto small_echo = [](socket client) {
    set_size_option(client.native_handle(), SO_SNDBUF, 4096);
    echo(std::move(client));
  };
  serve(*runtime, small_echo, [&](const endpoint& address) {
    peer client(address, {.receive_buffer = 32 * 1024});
    plain_thread sender([&] {
      client.send(data);
      client.end_stream();
    });
    std::mt19937 random(7);
    for (std::size_t at = 0; at < total;) {
      const std::string part =
          client.receive(std::min<std::size_t>(random() % 300'000, total - at));
      ASSERT_TRUE(data.compare(at, part.size(), part) == 0) << "wrong bytes after " << at;
      at += part.size();
      if (random() % 4 == 0) std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(client.receive(1), "");
  });
}

TEST(connections, both_directions_flow_at_once) {
  auto runtime = make_runtime(2);
  const std::string data = payload(2 << 20);
  runtime->run([&] {
    connection pair = connect_pair();
    std::vector<join_handle<void>> all;
    for (socket* side : {&pair.near, &pair.far}) {
      all.push_back(spawn([&, side] { EXPECT_TRUE(succeeded(side->write_all(bytes_of(data)))); }));
      all.push_back(spawn([&, side] { EXPECT_TRUE(read_exactly(*side, data.size()) == data); }));
    }
    for (auto& one : all) one.join();
  });
  expect_quiet(*runtime);
}

TEST(connections, an_echo_over_ipv6_works) {
  auto runtime = make_runtime(2);
  try {
    runtime->run([] { listen_on_loopback("::1"); });
  } catch (const std::system_error& error) {
    GTEST_SKIP() << "no ::1 here: " << error.what();
  }
  serve(
      *runtime, echo,
      [](const endpoint& address) {
        EXPECT_EQ(address.to_string().substr(0, 6), "[::1]:");
        EXPECT_EQ(peer(address).ask("over six"), "over six");
      },
      "::1");
  runtime->run([] {
    listener listening = listen_on_loopback("::1");
    socket near = socket::connect(listening.local_endpoint().value()).value();
    socket far = listening.accept().value();
    EXPECT_EQ(near.local_endpoint().value().port(), far.remote_endpoint().value().port());
  });
}

TEST(connections, endpoints_name_both_sides) {
  auto runtime = make_runtime(1);
  runtime->run([] {
    connection pair = connect_pair();
    EXPECT_EQ(pair.near.local_endpoint().value().to_string(),
              pair.far.remote_endpoint().value().to_string());
    EXPECT_EQ(pair.far.local_endpoint().value().to_string(),
              pair.near.remote_endpoint().value().to_string());
    EXPECT_TRUE(succeeded(pair.near.set_no_delay(true)));
  });
}

TEST(connections, a_connect_to_a_port_that_refuses_says_so) {
  auto runtime = make_runtime(2);
  runtime->run([] {
    endpoint nobody("127.0.0.1", 1);
    {
      listener listening = listen_on_loopback();
      nobody = listening.local_endpoint().value();
    }
    for (int i = 0; i < 100; ++i)
      EXPECT_TRUE(failed_with(socket::connect(nobody, patience), std::errc::connection_refused));
  });
  expect_quiet(*runtime);
}

TEST(connections, a_bind_to_a_port_in_use_says_so) {
  auto runtime = make_runtime(1);
  runtime->run([] {
    const listener first = listen_on_loopback();
    EXPECT_TRUE(
        failed_with(listener::bind(first.local_endpoint().value()), std::errc::address_in_use));
  });
}

TEST(connections, a_connect_that_gets_no_answer_ends_at_its_deadline) {
  auto runtime = make_runtime(2);
  const std::size_t before = open_descriptors();
  runtime->run([] {
    // A full backlog drops what comes more. How much it holds is the system's affair.
    listener silent = listener::bind({"127.0.0.1", 0}, {.backlog = 0}).value();
    const endpoint address = silent.local_endpoint().value();
    std::vector<socket> fill;
    for (int i = 0; i < 20; ++i) {
      auto next = socket::connect(address, 50ms);
      if (next) {
        fill.push_back(std::move(*next));
        continue;
      }
      ASSERT_TRUE(failed_with(next, std::errc::timed_out));
      const auto time = time_of(
          [&] { EXPECT_TRUE(failed_with(socket::connect(address, 30ms), std::errc::timed_out)); });
      EXPECT_GE(time, 30ms);
      EXPECT_LT(milliseconds(time), 300.0 * leniency);
      return;
    }
    FAIL() << "a backlog of 0 took 20 connections";
  });
  expect_quiet(*runtime);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(connections, an_accept_ends_at_its_deadline_and_takes_the_next_connection) {
  auto runtime = make_runtime(2);
  runtime->run([] {
    listener listening = listen_on_loopback();
    EXPECT_TRUE(failed_with(listening.accept(0s), std::errc::timed_out));
    EXPECT_TRUE(failed_with(listening.accept(2ms), std::errc::timed_out));
    const socket client = socket::connect(listening.local_endpoint().value()).value();
    EXPECT_TRUE(succeeded(listening.accept(patience)));
  });
  expect_quiet(*runtime);
}

TEST(connections, a_write_to_a_stalled_reader_ends_at_its_deadline_and_counts_its_bytes) {
  auto runtime = make_runtime(2);
  runtime->run([] {
    connection pair = connect_pair();
    const std::string data(64 << 20, 'x');
    std::size_t written = 0;
    for (;;) {
      const auto some = pair.near.write(bytes_of(data).subspan(written), 20ms);
      if (!some) {
        EXPECT_TRUE(failed_with(some, std::errc::timed_out));
        break;
      }
      written += *some;
      ASSERT_LT(written, data.size());
    }
    EXPECT_TRUE(failed_with(pair.near.write_all(bytes_of(data), 5ms), std::errc::timed_out));
    EXPECT_TRUE(succeeded(pair.near.shutdown(SHUT_WR)));
    EXPECT_TRUE(read_exactly(pair.far, data.size()) == data.substr(0, written));
  });
  expect_quiet(*runtime);
}

TEST(connections, a_second_user_of_one_direction_is_refused_and_the_first_goes_on) {
  auto runtime = make_runtime(2);
  runtime->run([] {
    connection pair = connect_pair();
    const std::string data(16 << 20, 'x');
    std::atomic<int> read{0}, written{0}, refused{0};
    const auto count = [&](std::error_code outcome, std::atomic<int>& good) {
      EXPECT_TRUE(!outcome || outcome == std::errc::device_or_resource_busy) << outcome.message();
      ++(outcome ? refused : good);
    };
    // Of two that cannot finish, one is refused while the other waits.
    std::vector<join_handle<void>> all;
    for (int i = 0; i < 2; ++i) {
      all.push_back(spawn([&] {
        std::array<std::byte, 8> buffer;
        count(pair.far.read(buffer).error(), read);
      }));
      all.push_back(spawn([&] { count(pair.far.write_all(bytes_of(data)).error(), written); }));
    }
    EXPECT_TRUE(eventually([&] { return refused == 2; }));
    EXPECT_EQ(read + written, 0);
    EXPECT_TRUE(succeeded(pair.near.write_all(bytes_of("first"))));
    EXPECT_TRUE(eventually([&] { return read == 1; }));
    std::size_t received = 0;
    while (written == 0) received += read_exactly(pair.near, 1 << 16).size();
    EXPECT_TRUE(succeeded(pair.far.shutdown(SHUT_WR)));
    received += read_exactly(pair.near, 4 * data.size()).size();
    EXPECT_GE(received, data.size());
    for (auto& one : all) one.join();
  });
  expect_quiet(*runtime);
}

TEST(connections, empty_buffers_need_no_wait) {
  auto runtime = make_runtime(1);
  runtime->run([] {
    connection pair = connect_pair();
    EXPECT_EQ(pair.near.read({}).value_or(1), 0u);
    EXPECT_EQ(pair.near.write({}).value_or(1), 0u);
    EXPECT_TRUE(succeeded(pair.near.write_all({})));
  });
}

}  // namespace
}  // namespace heddle::conformance
