#include "answer_reads.hpp"
#include "application.hpp"

namespace heddle::servers {
namespace {

constexpr auto no_work = [] { return true; };

void answer(socket peer) { answer_reads(peer, deadline::never(), no_work); }

void answer_in_time(socket peer) { answer_reads(peer, std::chrono::seconds(5), no_work); }

}  // namespace

extern const application hello{"hello", {}, make_stateless<answer>};
extern const application hello_timeout{"hello-timeout", {}, make_stateless<answer_in_time>};

}  // namespace heddle::servers
