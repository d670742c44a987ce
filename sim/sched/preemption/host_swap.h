// KV of victims on the host: which way each goes, the host pool, and the copies under way. What of a sequence lies
// there stands in its row (sequence.h: kept, saved, host_blocks).
//
// Without `overlap` copies hold up the step that begins them, as in vLLM V0: the scheduler may count on their end at
// once. With it the step goes on; a host block is free again when its copy back has ended. A full pool means recompute.
// Law: blocks used == blocks of the sequences out there + blocks of copies back under way. Cost: O(copies under way).
// Source: Kwon et al., SOSP 2023, sec. 4.5.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/kv/host_pool.h"
#include "sim/sched/preemption/kv_link.h"
#include "sim/sched/preemption/mode.h"
#include "sim/sched/preemption/restore_cost.h"
#include "sim/sched/sequence.h"

namespace blockyard::sched {

struct HostSwapOptions {
  std::string_view mode = "swap";
  Blocks blocks;           // of the pool
  Tokens block_size{1};    // tokens a block, on the host as on the GPU
  bool one_piece = false;  // a sequence lies in one stretch of GPU memory, and is copied at once
  bool overlap = false;
};

class HostSwap {
 public:
  HostSwap(const HostSwapOptions& options, KvLink& link, RestoreCost& cost)
      : options_(options),
        mode_(make_preemption_mode(options.mode)),
        pool_(options.blocks),
        link_(&link),
        cost_(&cost) {}

  [[nodiscard]] bool overlap() const { return options_.overlap; }
  [[nodiscard]] bool asks_for_load() const { return mode_->asks_for_times(); }
  [[nodiscard]] Blocks used() const { return pool_.used(); }
  [[nodiscard]] std::int64_t sequences() const { return sequences_; }

  // How tokens [from, to) of a sequence would go, and when they would be back.
  [[nodiscard]] Way way(SimTime now, Tokens from, Tokens to, const DecodeLoad& load) const;
  [[nodiscard]] SimTime restore_time(SimTime now, Tokens tokens, const DecodeLoad& load) const;

  // Tokens [from, to) go to the host, before those that are there already. Returns the blocks. With
  // overlap, s.ready is the end of the copy.
  Blocks save(Sequence& s, Tokens from, Tokens to, SimTime now);
  // What it has there of its tokens from `from` on comes back, those before being on the GPU; likewise.
  Blocks fetch(Sequence& s, Tokens from, SimTime now);
  // It is not wanted any more.
  void drop(Sequence& s);

  // Host blocks whose copy has ended by `now` are free.
  void settle(SimTime now);
  // When all copies begun so far will have ended, and the next end of a copy back; 0 and kNever without any.
  [[nodiscard]] SimTime last_end() const { return last_end_; }
  [[nodiscard]] SimTime next_return() const;
  [[nodiscard]] bool returning() const { return !returning_.empty(); }

 private:
  struct Return {
    SimTime end;
    Blocks blocks;
  };
  void begun(Sequence& s, SimTime end);
  [[nodiscard]] Copy copy_of(Tokens from, Tokens to) const;

  HostSwapOptions options_;
  std::unique_ptr<PreemptionMode> mode_;
  kv::HostPool pool_;
  KvLink* link_;
  RestoreCost* cost_;
  std::int64_t sequences_ = 0;
  std::vector<Return> returning_;
  SimTime last_end_;
};

// What a scheduler needs beside memory to bring victims back.
struct Restoring {
  RestoreCost* cost = nullptr;     // for policies and modes that ask; outlives the scheduler
  std::unique_ptr<HostSwap> host;  // nullptr: victims are recomputed
};

}  // namespace blockyard::sched
