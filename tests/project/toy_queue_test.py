#!/usr/bin/env python3
"""A new queue is one header and one line: adds a toy queue to a scratch copy of the tree, and expects its
combinations, servers and tests to be there, to build and to pass.

usage: toy_queue_test.py SOURCE_ROOT
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1])

HEADER = """#pragma once

#include <deque>
#include <mutex>

#include <heddle/queues/queue_traits.hpp>

namespace heddle {

/// A deque under a lock.
struct toy_queue {
  static constexpr queue_traits traits{
      .push_progress = progress::blocking, .pop_progress = progress::blocking, .allocates = true};

  template <class T, class Platform>
  class type {
   public:
    using handle = stateless_handle;

    explicit type(const queue_options&) {}

    push_result try_push(T item, handle&) {
      std::lock_guard guard(lock_);
      items_.push_back(item);
      return push_result::ok;
    }
    pop_result<T> try_pop(handle&) {
      std::lock_guard guard(lock_);
      if (items_.empty()) return {};
      T item = items_.front();
      items_.pop_front();
      return {pop_status::item, item};
    }
    bool maybe_nonempty() const { return approximate_size() != 0; }
    std::size_t approximate_size() const {
      std::lock_guard guard(lock_);
      return items_.size();
    }
    std::size_t capacity() const { return 0; }

   private:
    mutable typename Platform::mutex lock_;
    std::deque<T> items_;
  };
};

static_assert(run_queue<toy_queue::type<queue_hook*, native>, queue_hook*>);

}  // namespace heddle
"""


class ToyQueue(unittest.TestCase):
    def test_one_header_and_one_line_bring_everything(self):
        with tempfile.TemporaryDirectory() as folder:
            tree = pathlib.Path(folder) / "tree"
            shutil.copytree(ROOT, tree, symlinks=True,
                            ignore=shutil.ignore_patterns("build*", ".git", "__pycache__"))
            (tree / "src/queues/toy_queue.hpp").write_text(HEADER, encoding="utf-8")
            table = (tree / "meson.build").read_text(encoding="utf-8")
            changed = table.replace("queues = [\n", "queues = [\n  'toy-queue',\n", 1)
            self.assertNotEqual(table, changed)
            (tree / "meson.build").write_text(changed, encoding="utf-8")

            build = tree / "build"
            self.run_tool("meson", "setup", str(build), str(tree), "-Dcombinations=toy-queue",
                          "-Doptimization=1")
            zoo = json.loads((build / "zoo.json").read_text(encoding="utf-8"))
            names = {one["name"] for one in zoo["combinations"] if one["available"]}
            expected = {f"{poller['name']}-{scheduler}-toy-queue"
                        for poller in zoo["pollers"] if poller["available"]
                        for scheduler in ("work-sharing", "work-stealing")}
            self.assertEqual(names, expected)
            servers = {one["name"]: one["binary"] for one in zoo["servers"]}
            self.assertEqual({f"hello-{name}" for name in names} - set(servers), set())

            server = servers["hello-epoll-work-stealing-toy-queue"]
            bench = "benchmarks/queues/queue-bench-toy-queue"
            self.run_tool("ninja", "-C", str(build), server, bench, "tests/queue-model-toy-queue")
            self.run_tool(str(build / "tests/queue-model-toy-queue"))
            self.assertIn("toy-queue", self.run_tool(str(build / server), "--help"))
            measured = json.loads(self.run_tool(str(build / bench), "--operations", "1000"))
            self.assertEqual(measured["operations"], 1000)

    def run_tool(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=900, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stdout[-4000:]}")
        return done.stdout


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
