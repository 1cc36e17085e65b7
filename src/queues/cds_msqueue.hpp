#pragma once

#include <memory>
#include <optional>

#include <cds/container/msqueue.h>
#include <cds/gc/hp.h>
#include <cds/init.h>

#include <heddle/queues/counted_adapter.hpp>

namespace heddle {

/// Adapter over cds::container::MSQueue: Michael and Scott's list with hazard pointers.
///
/// Source:   M. Khizhinsky, libcds, as Debian's package libcds-dev (2.3.3).
/// Threads:  every operation any; at most 256 threads at a time in the program.
/// Progress: lock-free, but for the allocator.
/// Capacity: none; try_push never answers full, allocates, and throws std::bad_alloc.
/// Errata:   in the library's own orders the claim of the head does not release (libcds#186): the
///           next to pop may follow a node that it does not see initialised. Hence its sequentially
///           consistent variant.
struct cds_msqueue {
  static constexpr queue_traits traits{
      .allocates = true,
      .native_only = true,
  };

  /// A thread's hold on the library, without which it has no hazard pointers. It may have several.
  class attachment {
   public:
    attachment() {
      static const process started;
      cds::threading::Manager::attachThread();
    }
    ~attachment() { cds::threading::Manager::detachThread(); }
    attachment(const attachment&) = delete;
    attachment& operator=(const attachment&) = delete;

   private:
    static constexpr std::size_t hazard_pointers_each = 2;
    static constexpr std::size_t most_threads = 256;

    /// The library lives from its first use to the end of the program.
    struct process {
      process() {
        cds::Initialize();
        hazard_pointers.emplace(hazard_pointers_each, most_threads);
      }
      ~process() {
        hazard_pointers.reset();
        cds::Terminate();
      }

      std::optional<cds::gc::HP> hazard_pointers;
    };
  };

  template <class T>
  class library {
   public:
    // Who makes or destroys the queue need not be one who uses it.
    explicit library(const queue_options&) {
      const attachment held;
      queue_.emplace();
    }
    ~library() {
      const attachment held;
      queue_.reset();
    }
    library(const library&) = delete;
    library& operator=(const library&) = delete;

    static void attach_thread() {
      static thread_local const attachment until_the_thread_ends;
      static_cast<void>(until_the_thread_ends);
    }

    bool push(T item) { return queue_->push(item); }
    bool pop(T& item) { return queue_->pop(item); }
    std::size_t capacity() const { return 0; }

   private:
#if defined(HEDDLE_TSAN)
    /// The search for nodes that nobody reads is in the library's compiled part, where
    /// ThreadSanitizer does not see it: who frees a node looks like a race with its last reader.
    /// So nodes are not freed.
    template <class Node>
    struct node_allocator : std::allocator<Node> {
      template <class Other>
      struct rebind {
        using other = node_allocator<Other>;
      };
      void deallocate(Node*, std::size_t) {}
    };
#else
    template <class Node>
    using node_allocator = std::allocator<Node>;
#endif

    using orders = cds::opt::memory_model<cds::opt::v::sequential_consistent>;
    using options =
        typename cds::container::msqueue::make_traits<orders,
                                                      cds::opt::allocator<node_allocator<T>>>::type;

    std::optional<cds::container::MSQueue<cds::gc::HP, T, options>> queue_;
  };

  template <class T, class Platform>
  using type = counted_adapter<T, Platform, library<T>>;
};

static_assert(run_queue<cds_msqueue::type<void*, native>, void*>);

}  // namespace heddle
