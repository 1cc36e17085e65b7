#pragma once

#include <vector>

#include "age_deque.hpp"
#include "block_deque.hpp"
#include "chase_lev.hpp"
#include "clients.hpp"
#include "counted_blocks.hpp"
#include "frozen_segments.hpp"
#include "idle.hpp"
#include "linked_inbox.hpp"
#include "local_ring.hpp"
#include "michael_scott.hpp"
#include "next_slot.hpp"
#include "sequenced_ring.hpp"
#include "ticket_queue.hpp"
#include <heddle/queues/block_stealing.hpp>
#include <heddle/queues/bounded_mpmc.hpp>
#include <heddle/queues/bounded_spmc.hpp>
#include <heddle/queues/bounded_spmc_claim.hpp>
#include <heddle/queues/chase_lev.hpp>
#include <heddle/queues/simple_mpmc.hpp>

namespace heddle::mutants {

inline constexpr bool weak = true;
inline constexpr bool any_memory = false;
using list_bug = michael_scott_bug;
using list = michael_scott<list_bug::none>;
using ring_bug = local_ring_bug;
using ring = local_ring<ring_bug::none>;
using deque_bug = chase_lev_bug;
using deque = chase_lev<deque_bug::none>;
using blocks_bug = counted_blocks_bug;
using blocks = counted_blocks<blocks_bug::none>;
using cells_bug = sequenced_ring_bug;
using cells = sequenced_ring<cells_bug::none>;
using inbox_bug = linked_inbox_bug;
using inbox = linked_inbox<inbox_bug::none>;
inline constexpr std::uint64_t before_wrap_16 = 0xfffe;
inline constexpr std::uint64_t before_wrap_32 = 0xffff'fffe;

inline std::vector<mutant> mutants_of_lists() {
  return {
      concurrent_mutant<pop_beside_a_reused_node, list,
                        michael_scott<list_bug::head_not_looked_at_again>, simple_mpmc>(
          "M1", "pop does not look at head again", any_memory),
      concurrent_mutant<push_and_pop_beside_a_reused_node, list,
                        michael_scott<list_bug::count_starts_again>, simple_mpmc>(
          "M2", "a reused node's count starts again", any_memory),
      concurrent_mutant<two_producers_and_four_pops, inbox,
                        linked_inbox<inbox_bug::sentinel_reset_late>>(
          "M19", "the sentinel is reset after it is put back", any_memory),
      sequential_mutant<inbox, linked_inbox<inbox_bug::sentinel_never_reset>, sequential_plan{}>(
          "M19-cycle", "the sentinel is never reset", "random calls"),
      concurrent_mutant<one_push_and_two_pops, list, michael_scott<list_bug::head_not_released>,
                        simple_mpmc>("M20", "the head is claimed with acquire only", weak),
  };
}

inline std::vector<mutant> mutants_of_rings() {
  return {
      concurrent_mutant<one_push_and_a_theft, ring, local_ring<ring_bug::tail_not_acquired>,
                        bounded_spmc, bounded_spmc_claim>("M3", "a thief loads tail relaxed", weak),
      concurrent_mutant<theft_from_a_thief, ring, local_ring<ring_bug::room_modulo_ring>,
                        bounded_spmc_claim>("M9", "a difference that cannot tell full from empty",
                                            any_memory),
      concurrent_mutant<theft_beside_a_whole_turn, ring, local_ring<ring_bug::index_of_3_bits>,
                        bounded_spmc_claim>("M10", "an index of 3 bits comes round", any_memory),
      sequential_mutant<ring, local_ring<ring_bug::plain_addition>,
                        sequential_plan{.first_index = before_wrap_16}>(
          "M11", "an addition that does not wrap around", "start at max-1; random calls"),
      concurrent_mutant<pop_behind_an_unfinished_push, cells,
                        sequenced_ring<cells_bug::claim_taken_for_empty>, bounded_mpmc>(
          "M15", "an unfinished push in front passes for empty", any_memory),
      concurrent_mutant<pushes_for_one_lap, cells, sequenced_ring<cells_bug::flag_for_sequence>,
                        bounded_mpmc>("M21", "a flag in place of a sequence number", any_memory),
      sequential_mutant<cells, sequenced_ring<cells_bug::capacity_of_one>,
                        sequential_plan{.capacity_slots = 1}>(
          "M21-capacity-1", "a ring of one cell", "capacity 1; random calls"),
      sequential_mutant<cells, sequenced_ring<cells_bug::value_for_sequence>,
                        sequential_plan{.first_item = 0}>("M21-reserved-value",
                                                          "an item in place of a sequence number",
                                                          "random calls, of which one pushes 0"),
      concurrent_mutant<look_beside_a_full_slot, next_slot<next_slot_bug::none>,
                        next_slot<next_slot_bug::tail_not_looked_at_again>>(
          "M22", "the check for work does not look at tail again", any_memory),
  };
}

inline std::vector<mutant> mutants_of_deques() {
  return {
      concurrent_mutant<growth_beside_a_theft, deque, chase_lev<deque_bug::array_published_relaxed>,
                        heddle::chase_lev>("M4", "the grown array is published relaxed", weak),
      sequential_mutant<deque, chase_lev<deque_bug::stale_array_after_growth>,
                        sequential_plan{.capacity_slots = 2}>(
          "M4-stale-array", "push writes to the array that it has just replaced",
          "capacity 2; random calls"),
      concurrent_mutant<take_from_a_fresh_deque, deque, chase_lev<deque_bug::unsigned_positions>,
                        heddle::chase_lev>("M5", "unsigned bottom - 1", any_memory),
      concurrent_mutant<take_beside_two_thieves, age_deque<age_deque_bug::none>,
                        age_deque<age_deque_bug::age_and_bottom_unordered>>(
          "M6", "a thief reads top and bottom unordered", weak),
      concurrent_mutant<take_beside_two_thefts, deque, chase_lev<deque_bug::no_fence_in_take>,
                        heddle::chase_lev>("M7", "no seq_cst fence in take", weak),
      concurrent_mutant<growth_beside_a_batch, deque,
                        chase_lev<deque_bug::one_array_for_whole_batch>>(
          "M8", "one array for a whole batch of thefts", any_memory),
      concurrent_mutant<two_blocks_and_a_thief, block_deque<block_deque_bug::none>,
                        block_deque<block_deque_bug::reclaimed_when_claimed>, block_stealing>(
          "M18", "the owner reclaims a block that is still read", any_memory),
  };
}

inline std::vector<mutant> mutants_of_segments() {
  return {
      concurrent_mutant<two_pushes_and_two_pops, blocks,
                        counted_blocks<blocks_bug::head_claimed_relaxed>>(
          "M12", "the head is claimed relaxed", weak),
      concurrent_mutant<reuse_beside_two_pops, blocks,
                        counted_blocks<blocks_bug::block_reused_relaxed>>(
          "M13", "a block is reused without acquire", weak),
      sequential_mutant<blocks, counted_blocks<blocks_bug::plain_comparison>,
                        sequential_plan{.first_index = before_wrap_32}>(
          "M13-wrap", "a comparison that does not wrap around", "start at max-1; random calls"),
      concurrent_mutant<pops_with_a_signal_each, blocks,
                        counted_blocks<blocks_bug::tail_read_before_head>>(
          "M14", "empty although an item was published before", any_memory),
      concurrent_mutant<two_threads_that_push_and_pop, ticket_queue<ticket_queue_bug::none>,
                        ticket_queue<ticket_queue_bug::head_and_tail_unordered>>(
          "M16", "head and tail are read unordered", weak),
      concurrent_mutant<freeze_beside_a_pop, frozen_segments<frozen_segments_bug::none>,
                        frozen_segments<frozen_segments_bug::flag_before_tail>>(
          "M17", "the flag says frozen before the tail has moved", any_memory),
  };
}

inline std::vector<mutant> mutants_of_the_idle_protocol() {
  return {
      idle_mutant<explore::small_runtime<explore::model_without_fences>>(
          "idle-no-fence", "no fence between announcing and looking", weak),
      idle_mutant<explore::small_runtime<explore::model, explore::recheck::never>>(
          "idle-no-recheck", "no look after announcing", any_memory),
      idle_mutant<explore::small_runtime<explore::model, explore::recheck::before_announcing>>(
          "idle-late-announce", "the look comes before announcing", any_memory),
  };
}

/// All mutants; docs/mutants.md says where each bug was published.
inline std::vector<mutant> table() {
  std::vector<mutant> all;
  for (const auto& some : {mutants_of_lists(), mutants_of_rings(), mutants_of_deques(),
                           mutants_of_segments(), mutants_of_the_idle_protocol()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace heddle::mutants
