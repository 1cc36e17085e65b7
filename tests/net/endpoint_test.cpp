#include <cstring>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <sys/un.h>

#include <heddle/net/endpoint.hpp>

namespace heddle {
namespace {

using namespace std::string_literals;

TEST(endpoint, keeps_an_ipv4_address_and_its_port) {
  const endpoint local("127.0.0.1", 3000);
  EXPECT_EQ(local.family(), AF_INET);
  EXPECT_EQ(local.port(), 3000);
  EXPECT_EQ(local.address_bytes(), sizeof(sockaddr_in));
  EXPECT_EQ(local.to_string(), "127.0.0.1:3000");
  sockaddr_in raw;
  std::memcpy(&raw, local.address(), sizeof raw);
  EXPECT_EQ(raw.sin_family, AF_INET);
  EXPECT_EQ(ntohs(raw.sin_port), 3000);
  EXPECT_EQ(ntohl(raw.sin_addr.s_addr), INADDR_LOOPBACK);
}

TEST(endpoint, keeps_an_ipv6_address_with_or_without_brackets) {
  for (const char* host : {"::1", "[::1]"}) {
    const endpoint local(host, 80);
    EXPECT_EQ(local.family(), AF_INET6);
    EXPECT_EQ(local.port(), 80);
    EXPECT_EQ(local.address_bytes(), sizeof(sockaddr_in6));
    EXPECT_EQ(local.to_string(), "[::1]:80");
  }
  EXPECT_EQ(endpoint("2001:0db8::0001", 1).to_string(), "[2001:db8::1]:1");
  EXPECT_EQ(endpoint("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe", 65535).to_string(),
            "[ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe]:65535");
  EXPECT_EQ(endpoint("::ffff:192.0.2.1", 9).to_string(), "[::ffff:192.0.2.1]:9");
}

TEST(endpoint, knows_localhost_without_looking_it_up) {
  EXPECT_EQ(endpoint("localhost", 1).to_string(), "127.0.0.1:1");
}

TEST(endpoint, takes_every_port) {
  EXPECT_EQ(endpoint("0.0.0.0", 0).to_string(), "0.0.0.0:0");
  EXPECT_EQ(endpoint("255.255.255.255", 65535).to_string(), "255.255.255.255:65535");
}

TEST(endpoint, refuses_what_is_no_numeric_address_and_says_what_is_allowed) {
  const std::string refused[] = {"",
                                 "example.com",
                                 "127.0.0.1:80",
                                 "127.1",
                                 "256.0.0.1",
                                 "1.2.3.4.5",
                                 " 1.2.3.4",
                                 "1.2.3.4 ",
                                 "[127.0.0.1",
                                 "::1]",
                                 "[]",
                                 "[",
                                 "[::1",
                                 ":::",
                                 "::1%lo",
                                 "LOCALHOST",
                                 "0x7f.1",
                                 "[[::1]]",
                                 "127.0.0.1\0evil"s};
  for (const std::string& host : refused) {
    try {
      const endpoint made(host, 1);
      ADD_FAILURE() << "'" << host << "' became " << made.to_string();
    } catch (const std::invalid_argument& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find("host '" + std::string(host.c_str())), 0u) << message;
      EXPECT_NE(message.find("a numeric IPv4 or IPv6 address, or localhost"), std::string::npos)
          << message;
    }
  }
}

TEST(endpoint, takes_what_the_kernel_answers_and_refuses_other_families) {
  for (const char* host : {"192.0.2.7", "2001:db8::7"}) {
    const endpoint first(host, 4711);
    sockaddr_storage storage{};
    std::memcpy(&storage, first.address(), first.address_bytes());
    EXPECT_EQ(endpoint(storage).to_string(), first.to_string());
  }
  sockaddr_storage other{};
  other.ss_family = AF_UNIX;
  EXPECT_THROW(endpoint{other}, std::invalid_argument);
  EXPECT_THROW(endpoint{sockaddr_storage{}}, std::invalid_argument);
}

}  // namespace
}  // namespace heddle
