#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <random>
#include <string>

#include <fcntl.h>
#include <pty.h>
#include <sys/resource.h>

#include "peer.hpp"
#include <heddle/base/unique_fd.hpp>

namespace heddle::conformance {
namespace {

stream opened(const char* path, int flags) {
  return stream::adopt(::open(path, flags | O_CLOEXEC)).value();
}

struct pipe_ends {
  stream out;
  stream in;
};

pipe_ends make_pipe() {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {stream::adopt(ends[0]).value(), stream::adopt(ends[1]).value()};
}

template <class From>
std::string read_some(From& from, std::size_t most = 4096, deadline limit = patience) {
  std::string text(most, '\0');
  text.resize(from.read(std::as_writable_bytes(std::span(text)), limit).value());
  return text;
}

std::string read_to_the_end(stream& from) {
  std::string all;
  for (std::string part; !(part = read_some(from)).empty();) all += part;
  return all;
}

TEST(streams, a_pipe_carries_every_byte_in_order) {
  auto runtime = make_runtime(2);
  std::string sent(scaled(std::size_t{1} << 20), '\0');
  std::mt19937 random(7);
  std::generate(sent.begin(), sent.end(), [&] { return static_cast<char>(random()); });
  runtime->run([&] {
    pipe_ends pipe = make_pipe();
    auto reader = spawn([&] { return read_to_the_end(pipe.out); });
    for (std::string_view rest = sent; !rest.empty();) {
      const std::string_view part = rest.substr(0, 1 + random() % 100'000);
      EXPECT_TRUE(succeeded(pipe.in.write_all(bytes_of(part), patience)));
      rest.remove_prefix(part.size());
    }
    EXPECT_TRUE(succeeded(pipe.in.close()));
    EXPECT_EQ(reader.join(), sent);
  });
  expect_quiet(*runtime);
}

TEST(streams, a_read_of_an_empty_pipe_ends_at_a_deadline_or_a_close) {
  auto runtime = make_runtime(2);
  runtime->run([&] {
    pipe_ends pipe = make_pipe();
    std::array<std::byte, 8> buffer;
    EXPECT_TRUE(failed_with(pipe.out.read(buffer, 5ms), std::errc::timed_out));
    EXPECT_TRUE(succeeded(pipe.in.write_all(bytes_of("later"))));
    EXPECT_EQ(read_some(pipe.out), "later");
    const std::uint64_t waits = runtime->stats().suspended_reads;
    auto waiting = spawn([&] { return pipe.out.read(buffer); });
    EXPECT_TRUE(eventually([&] { return runtime->stats().suspended_reads > waits; }));
    EXPECT_TRUE(succeeded(pipe.out.close()));
    EXPECT_TRUE(failed_with(waiting.join(), std::errc::operation_canceled));
  });
  expect_quiet(*runtime);
}

TEST(streams, a_full_pipe_keeps_its_writer_waiting_and_a_missing_reader_is_an_error) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  auto runtime = make_runtime(2);
  runtime->run([&] {
    pipe_ends pipe = make_pipe();
    const std::string much(1 << 20, 'x');
    EXPECT_TRUE(failed_with(pipe.in.write_all(bytes_of(much), 5ms), std::errc::timed_out));
    EXPECT_TRUE(succeeded(pipe.out.close()));
    EXPECT_TRUE(failed_with(pipe.in.write(bytes_of("x")), std::errc::broken_pipe));
  });
  std::signal(SIGPIPE, before);
  expect_quiet(*runtime);
}

TEST(streams, a_regular_file_is_read_as_it_was_written) {
  auto runtime = make_runtime(2);
  runtime->run([&] {
    std::string path = testing::TempDir() + "heddle-stream-XXXXXX";
    const int fd = ::mkstemp(path.data());
    ASSERT_GE(fd, 0);
    std::string text;
    for (int i = 0; i < 50'000; ++i) text += std::to_string(i) + ' ';
    stream file = stream::adopt(fd).value();
    EXPECT_TRUE(succeeded(file.write_all(bytes_of(text))));
    EXPECT_EQ(read_some(file), "");
    stream again = opened(path.c_str(), O_RDONLY);
    EXPECT_EQ(read_to_the_end(again), text);
    EXPECT_EQ(::unlink(path.c_str()), 0);
  });
  expect_quiet(*runtime);
}

TEST(streams, devices_are_read_and_written) {
  auto runtime = make_runtime(2);
  runtime->run([&] {
    stream null = opened("/dev/null", O_RDWR);
    EXPECT_EQ(null.write(bytes_of("gone")).value(), 4u);
    EXPECT_EQ(read_some(null), "");
    stream zero = opened("/dev/zero", O_RDONLY);
    EXPECT_EQ(read_some(zero, 100), std::string(100, '\0'));
  });
  expect_quiet(*runtime);
}

TEST(streams, a_terminal_gives_all_its_lines_one_by_one) {
  auto runtime = make_runtime(2);
  runtime->run([&] {
    int keyboard = -1;
    int screen = -1;
    ASSERT_EQ(::openpty(&keyboard, &screen, nullptr, nullptr, nullptr), 0);
    const unique_fd typed(keyboard);
    stream terminal = stream::adopt(screen).value();
    const std::uint64_t waits = runtime->stats().suspended_reads;
    auto first = spawn([&] { return read_some(terminal); });
    EXPECT_TRUE(eventually([&] { return runtime->stats().suspended_reads > waits; }));
    ASSERT_EQ(::write(typed.get(), "one\ntwo\nthree\n", 14), 14);
    EXPECT_EQ(first.join(), "one\n");
    EXPECT_EQ(read_some(terminal), "two\n");
    EXPECT_EQ(read_some(terminal), "three\n");
  });
  expect_quiet(*runtime);
}

TEST(streams, standard_input_may_be_a_pipe) {
  auto runtime = make_runtime(2);
  const unique_fd kept(::dup(STDIN_FILENO));
  runtime->run([&] {
    pipe_ends pipe = make_pipe();
    ASSERT_EQ(::dup2(pipe.out.native_handle(), STDIN_FILENO), STDIN_FILENO);
    stream input = stream::adopt(STDIN_FILENO).value();
    auto reader = spawn([&] { return read_some(input); });
    this_fiber::yield();
    EXPECT_TRUE(succeeded(pipe.in.write_all(bytes_of("typed"))));
    EXPECT_EQ(reader.join(), "typed");
  });
  EXPECT_EQ(::dup2(kept.get(), STDIN_FILENO), STDIN_FILENO);
  expect_quiet(*runtime);
}

TEST(streams, what_cannot_be_read_says_why) {
  auto runtime = make_runtime(2);
  runtime->run([&] {
    EXPECT_TRUE(failed_with(stream::adopt(-1), std::errc::bad_file_descriptor));
    EXPECT_TRUE(failed_with(stream::adopt(1 << 20), std::errc::bad_file_descriptor));
    stream folder = opened("/", O_RDONLY | O_DIRECTORY);
    std::array<std::byte, 8> buffer;
    EXPECT_TRUE(failed_with(folder.read(buffer), std::errc::is_a_directory));
    stream written_only = opened("/dev/null", O_WRONLY);
    EXPECT_TRUE(failed_with(written_only.read(buffer), std::errc::bad_file_descriptor));
  });
  expect_quiet(*runtime);
}

TEST(streams, ten_thousand_reads_at_once_all_complete_over_the_smallest_ring) {
  runtime_options options;
  options.tuning.ring_entries = 8;
  auto runtime = make_runtime(2, options);
  std::atomic<std::size_t> bytes{0};
  rlimit descriptors{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &descriptors), 0);
  const rlimit before = descriptors;
  descriptors.rlim_cur = descriptors.rlim_max;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &descriptors), 0);
  const std::size_t readers = std::min<std::size_t>(scaled(10'000), descriptors.rlim_max - 100);
  runtime->run([&] {
    for (std::size_t i = 0; i < readers; ++i) {
      spawn([&] {
        stream zero = opened("/dev/zero", O_RDONLY);
        bytes += read_some(zero, 16).size();
      });
    }
  });
  EXPECT_EQ(bytes, 16 * readers);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  expect_quiet(*runtime);
}

}  // namespace
}  // namespace heddle::conformance
