#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "peer.hpp"
#include <heddle/base/unique_fd.hpp>
#include <heddle/pollers/epoll.hpp>
#include <heddle/queues/locking.hpp>
#include <heddle/runtime.hpp>
#include <heddle/schedulers/work_sharing.hpp>

/// What a read finds after reads that had to wait, when a poller may receive ahead of it.
namespace heddle::conformance {
namespace {

/// So many questions in a row make every read wait for its bytes.
constexpr int questions = 8;

/// In a fiber: answers so many questions of `bytes` bytes.
void answer(socket& client, int count, std::size_t bytes = 100) {
  for (int i = 0; i < count; ++i) {
    const std::string question = read_exactly(client, bytes);
    if (question.size() < bytes || !client.write_all(bytes_of(question))) return;
  }
}

void ask(peer& client, int count, std::size_t bytes = 100) {
  for (int i = 0; i < count; ++i) {
    const std::string question = payload(bytes, static_cast<unsigned>(i));
    ASSERT_TRUE(client.ask(question) == question);
  }
}

TEST(reading, bytes_that_came_while_nobody_read_come_in_order) {
  auto runtime = make_runtime(2);
  const std::string sent = payload(200'000);
  event sent_all;
  std::string got;
  serve(
      *runtime,
      [&](socket client) {
        answer(client, questions);
        sent_all.wait();
        for (std::size_t most = 1; got.size() < sent.size(); most = most * 3 % 5003) {
          std::vector<std::byte> buffer(std::min(most, sent.size() - got.size()));
          const std::size_t bytes = client.read(buffer).value_or(0);
          if (bytes == 0) break;
          got.append(reinterpret_cast<const char*>(buffer.data()), bytes);
        }
        answer(client, 10 * questions);
      },
      [&](const endpoint& server) {
        peer client(server);
        ask(client, questions);
        client.send(sent);
        sent_all.set();
        ask(client, 10 * questions);
      });
  EXPECT_TRUE(got == sent);
}

TEST(reading, a_question_longer_than_the_room_for_it_is_read_in_parts) {
  auto runtime = make_runtime(2);
  serve(
      *runtime,
      [](socket client) {
        std::array<std::byte, 7> few;
        while (const std::size_t bytes = client.read(few).value_or(0))
          if (!client.write_all(std::span(few).first(bytes))) return;
      },
      [](const endpoint& server) {
        peer client(server);
        ask(client, questions, 3);
        ask(client, questions, 100);
        ask(client, questions, 20'000);
        ask(client, questions, 3);
      });
}

TEST(reading, the_end_of_the_stream_follows_the_bytes_before_it) {
  auto runtime = make_runtime(2);
  event ended;
  std::string rest;
  serve(
      *runtime,
      [&](socket client) {
        answer(client, questions);
        ended.wait();
        rest = read_exactly(client, 1000);
        std::array<std::byte, 8> buffer;
        EXPECT_EQ(client.read(buffer).value_or(1), 0u);
        EXPECT_TRUE(succeeded(client.write_all(bytes_of("bye"))));
      },
      [&](const endpoint& server) {
        peer client(server);
        ask(client, questions);
        client.send("the rest");
        client.end_stream();
        ended.set();
        EXPECT_EQ(client.receive_all(), "bye");
      });
  EXPECT_EQ(rest, "the rest");
}

TEST(reading, a_reset_is_told_to_the_read_that_waits) {
  auto runtime = make_runtime(2);
  std::error_code told;
  event ended;
  serve(
      *runtime,
      [&](socket client) {
        answer(client, questions);
        std::array<std::byte, 8> buffer;
        told = client.read(buffer).error();
        ended.set();
      },
      [&](const endpoint& server) {
        peer client(server);
        ask(client, questions);
        client.reset();
        ended.wait();
      });
  EXPECT_EQ(told, std::errc::connection_reset);
}

TEST(reading, a_socket_that_nobody_reads_is_closed_at_once) {
  auto runtime = make_runtime(2);
  const std::size_t before = open_descriptors();
  serve(
      *runtime,
      [&](socket client) {
        answer(client, questions);
        EXPECT_TRUE(succeeded(client.close()));
      },
      [](const endpoint& server) {
        for (int i = 0; i < 20; ++i) {
          peer client(server);
          ask(client, questions);
          EXPECT_EQ(client.receive_all(), "");
        }
      });
  EXPECT_EQ(open_descriptors(), before);
}

TEST(reading, a_read_after_one_that_timed_out_gets_the_bytes_that_came_late) {
  auto runtime = make_runtime(2);
  event timed_out;
  serve(
      *runtime,
      [&](socket client) {
        answer(client, questions);
        std::array<std::byte, 64> buffer;
        for (int i = 0; i < 20; ++i)
          EXPECT_TRUE(failed_with(client.read(buffer, 1ms), std::errc::timed_out));
        timed_out.set();
        answer(client, questions);
      },
      [&](const endpoint& server) {
        peer client(server);
        ask(client, questions);
        timed_out.wait();
        ask(client, questions);
      });
}

TEST(reading, a_close_ends_the_read_under_way_and_the_connection) {
  auto runtime = make_runtime(2);
  serve(
      *runtime,
      [&](socket client) {
        answer(client, questions);
        const std::uint64_t before = runtime->stats().suspended_reads;
        auto reader = spawn([&] {
          std::array<std::byte, 8> buffer;
          return client.read(buffer).error();
        });
        EXPECT_TRUE(eventually([&] { return runtime->stats().suspended_reads > before; }));
        EXPECT_TRUE(succeeded(client.close()));
        EXPECT_EQ(reader.join(), std::errc::operation_canceled);
      },
      [](const endpoint& server) {
        peer client(server);
        ask(client, questions);
        EXPECT_EQ(client.receive_all(), "");
      });
}

TEST(reading, a_socket_takes_what_it_has_not_read_to_the_next_runtime) {
  std::optional<peer> client;
  socket kept;
  const auto first = [&](const char* left_behind) {
    auto runtime = make_runtime(2);
    runtime->run([&] {
      if (!kept.is_open()) {
        listener listening = listen_on_loopback();
        client.emplace(listening.local_endpoint().value());
        kept = listening.accept(patience).value();
      }
      std::optional<plain_thread> talker;
      event asked;
      talker.emplace([&] {
        ask(*client, questions);
        client->send(left_behind);
        asked.set();
      });
      answer(kept, questions);
      asked.wait();
      // Time for a poller to receive it, if it does so ahead of reads.
      EXPECT_TRUE(succeeded(sleep_for(5ms)));
    });
    expect_quiet(*runtime);
  };
  const auto next = [&](const std::string& expected) {
    auto runtime = make_runtime(1);
    runtime->run([&] { EXPECT_EQ(read_exactly(kept, expected.size()), expected); });
    expect_quiet(*runtime);
  };
  for (int i = 0; i < 5; ++i) {
    first("left behind");
    next("left behind");
  }
}

TEST(reading, a_socket_goes_back_and_forth_between_runtimes_that_both_run) {
  auto one = make_runtime(1);
  auto other = make_runtime(1);
  event done;
  plain_thread others_thread([&] { other->run([&] { done.wait(); }); });
  std::optional<plain_thread> talker;
  one->run([&] {
    listener listening = listen_on_loopback();
    const endpoint server = listening.local_endpoint().value();
    constexpr int moves = 6;
    talker.emplace([server] {
      peer client(server);
      for (int i = 0; i < 2 * moves; ++i) ask(client, questions, 3000);
    });
    socket client = listening.accept(patience).value();
    for (int i = 0; i < moves; ++i) {
      answer(client, questions, 3000);
      event there;
      other->spawn([&] {
        answer(client, questions, 3000);
        there.set();
      });
      there.wait();
    }
  });
  talker.reset();
  done.set();
  others_thread.join();
  expect_quiet(*one);
}

TEST(reading, a_pipe_that_an_epoll_has_read_is_waited_for_by_any_poller) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const unique_fd writes(ends[1]);
  stream pipe = stream::adopt(ends[0]).value();
  const auto read_one = [&] {
    std::array<std::byte, 1> byte;
    EXPECT_EQ(pipe.read(byte).value_or(0), 1u);
  };
  ASSERT_EQ(::write(writes.get(), "1", 1), 1);
  runtime<work_sharing<locking>, epoll_poller>({.workers = 1}).run(read_one);
  auto runtime = make_runtime(1);
  runtime->run([&] {
    spawn([&] {
      EXPECT_TRUE(succeeded(sleep_for(2ms)));
      EXPECT_EQ(::write(writes.get(), "2", 1), 1);
    });
    read_one();
  });
}

TEST(reading, more_connections_than_buffers_are_all_served_when_all_ask_at_once) {
  runtime_options options;
  options.tuning.set("receive_buffers=1");
  auto runtime = make_runtime(2, options);
  constexpr std::size_t connections = 300;
  serve(
      *runtime, [](socket client) { echo(std::move(client)); },
      [](const endpoint& server) {
        std::vector<peer> clients;
        for (std::size_t i = 0; i < connections; ++i) {
          clients.emplace_back(server);
          ask(clients.back(), questions);
        }
        for (int round = 0; round < 5; ++round) {
          const std::string question = payload(3000, static_cast<unsigned>(round));
          for (peer& client : clients) client.send(question);
          for (peer& client : clients) ASSERT_TRUE(client.receive(question.size()) == question);
        }
      });
}

}  // namespace
}  // namespace heddle::conformance
