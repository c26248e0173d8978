// Sample select (seed: Hanák 2023, section 4.3): any k, a block a row.
//
// Splitters from a sample part the items in question into buckets; those of the bucket with the
// k-th are in question next, until they are few enough to be sorted. No two items are equal, and
// the splitters are items in question: each bucket is smaller than what it is of.
//
// -DNEARFIELD_STAGES: 2, the k-th is found first, and then what comes before it is gathered; 1,
// items of the buckets before that of the k-th are gathered as soon as this is known.
#include "select/gpu/block_order.h"
#include "select/gpu/block_sort.h"

namespace nearfield::device {
namespace {

constexpr u32 log2_of(u32 x) { return x > 1 ? 1 + log2_of(x / 2) : 0; }

constexpr u32 kStages = NEARFIELD_STAGES;
constexpr u32 kEach = 8;
constexpr u32 kSample = kThreads * kEach;  // and the most that is sorted instead
constexpr u32 kBuckets = kThreads;
constexpr u32 kLevels = log2_of(kBuckets);
// Reads in flight a thread.
constexpr u32 kReads = 4;
constexpr u32 kTile = kReads * kThreads;

struct Found {
  u32 wanted;
  u32 bucket;
  u32 before;
};

struct Block {
  NEARFIELD_SHARED Item* exchange;  // kSample
  NEARFIELD_SHARED Item* tree;      // kBuckets: of splitters, the root is 1
  NEARFIELD_SHARED u32* counts;     // kBuckets
  NEARFIELD_SHARED u32* totals;     // kThreads
  NEARFIELD_SHARED Found* found;
  NEARFIELD_SHARED Item* end;
};

// Of a row, `wanted` are looked for among `count` items.
struct Question {
  Source source;
  u32 count;
  u32 wanted;
};

// Items from `begin` to before `end`, and how many are before them.
struct Bucket {
  Item begin;
  Item end;
  u32 before;
  u32 count;
};

NEARFIELD_INLINE u32 scatter(u32 x) {
  x *= 0x9E3779B1;
  x ^= x >> 15;
  x *= 0x9E3779B1;
  return x ^ x >> 13;
}

// Item `i` of the sample: from the i-th of kSample stretches, so that no item is taken twice.
NEARFIELD_INLINE Item sampled(const Question& question, u32 i, u32 round) {
  const u64 count = question.count;
  const u32 begin = static_cast<u32>(i * count / kSample);
  const u32 size = static_cast<u32>((i + 1) * count / kSample) - begin;
  const u64 random = scatter(round * kSample + i + 1);
  return question.source.at(begin + static_cast<u32>(random * size >> 32));
}

// A sample of the items, or all of them if they are few.
NEARFIELD_INLINE Items<kEach> load(const Question& question, u32 round) {
  Items<kEach> items;
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) {
    const u32 at = thread() * kEach + i;
    if (question.count > kSample) {
      items.at[i] = sampled(question, at, round);
    } else {
      items.at[i] = at < question.count ? question.source.at(at) : kNoItem;
    }
  }
  return items;
}

// The last sampled item of each thread but one, in order, is a splitter. The tree's level of one
// is told by the zeros its number ends with.
NEARFIELD_INLINE void plant(Item splitter, NEARFIELD_SHARED Item* tree) {
  const u32 number = thread() + 1;
  const u32 zeros = ones((number & (~number + 1)) - 1);
  if (number < kBuckets) {
    tree[(1U << (kLevels - 1 - zeros)) + (number >> (zeros + 1))] = splitter;
  }
  sync();
}

NEARFIELD_INLINE u32 bucket_of(Item item, NEARFIELD_SHARED const Item* tree) {
  u32 node = 1;
#pragma unroll
  for (u32 level = 0; level < kLevels; ++level) node = 2 * node + (item < tree[node] ? 0 : 1);
  return node - kBuckets;
}

// Reads of this thread, from kTile that its block reads at a time. Those of a warp follow those of
// the warp before it. What is not there is kNoItem.
struct Tile {
  Item read[kReads];

  NEARFIELD_INLINE Tile(const Question& question, u32 at) {
#pragma unroll
    for (u32 r = 0; r < kReads; ++r) {
      const u32 i = at + (warp() * kReads + r) * kWarp + lane();
      read[r] = i < question.count ? question.source.at(i) : kNoItem;
    }
  }
};

NEARFIELD_INLINE void count_buckets(const Question& question, const Block& block) {
  block.counts[thread()] = 0;
  sync();
  for (u32 at = 0; at < question.count; at += kTile) {
    const Tile tile(question, at);
#pragma unroll
    for (u32 r = 0; r < kReads; ++r) {
      if (tile.read[r] < kFirstNotSelected) {
        add_to_shared(block.counts + bucket_of(tile.read[r], block.tree), 1);
      }
    }
  }
  sync();
}

// That with the item wanted; where there are fewer numbers, with the last. Empty if there are none.
NEARFIELD_INLINE Bucket find_bucket(Question& question, Item splitter, const Block& block) {
  count_buckets(question, block);
  block.exchange[thread()] = splitter;  // the end of bucket t, of thread t
  const u32 own = block.counts[thread()];
  const u32 before = sum_before(own, block.totals);
  if (thread() == kThreads - 1) {
    const u32 all = before + own;
    *block.found = {question.wanted < all ? question.wanted : all, 0, 0};
  }
  sync();
  question.wanted = block.found->wanted;
  if (before < question.wanted && question.wanted <= before + own) {
    block.found->bucket = thread();
    block.found->before = before;
  }
  sync();
  const u32 bucket = block.found->bucket;
  return {bucket == 0 ? 0 : block.exchange[bucket - 1],
          bucket == kBuckets - 1 ? kFirstNotSelected
                                 : first_of(block.exchange[bucket], kFirstNotSelected),
          block.found->before, block.counts[bucket]};
}

// Writes the items of a tile from `begin` to before `end`, in order; returns how many.
NEARFIELD_INLINE u32 write_between(const Tile& tile, Item begin, Item end,
                                   NEARFIELD_GLOBAL Item* to, NEARFIELD_SHARED u32* totals) {
  u32 who[kReads];
  u32 of_warp = 0;
#pragma unroll
  for (u32 r = 0; r < kReads; ++r) {
    who[r] = ballot(begin <= tile.read[r] && tile.read[r] < end);
    of_warp += ones(who[r]);
  }
  sync();  // all have read: the totals before these, and their items, which may be written over
  if (lane() == 0) totals[warp()] = of_warp;
  sync();
  u32 slot = 0;
  u32 all = 0;
  for (u32 w = 0; w < kWarps; ++w) {
    if (w < warp()) slot += totals[w];
    all += totals[w];
  }
  const u32 lanes_before = (1U << lane()) - 1;
#pragma unroll
  for (u32 r = 0; r < kReads; ++r) {
    if ((who[r] >> lane() & 1) != 0) to[slot + ones(who[r] & lanes_before)] = tile.read[r];
    slot += ones(who[r]);
  }
  return all;
}

// The items of the bucket to `own`, which may be where they are read from.
NEARFIELD_INLINE void narrow(const Question& question, const Bucket& bucket,
                             NEARFIELD_GLOBAL Item* own, NEARFIELD_GLOBAL Item* before,
                             const Block& block) {
  for (u32 at = 0; at < question.count; at += kTile) {
    const Tile tile(question, at);
    own += write_between(tile, bucket.begin, bucket.end, own, block.totals);
    if (kStages == 1) {
      before += write_between(tile, 0, bucket.begin, before, block.totals);
    }
  }
  sync();
}

// Those up to the one wanted, of the items of the block.
NEARFIELD_INLINE void write_first(const Items<kEach>& items, u32 wanted,
                                  NEARFIELD_GLOBAL Item* selected) {
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) {
    const u32 place = thread() * kEach + i;
    if (place < wanted && items.at[i] < kFirstNotSelected) selected[place] = items.at[i];
  }
}

// Those of the row up to the one wanted of the items of the block.
NEARFIELD_INLINE void gather_up_to(const Items<kEach>& items, u32 wanted, const Question& row,
                                   NEARFIELD_GLOBAL Item* selected, const Block& block) {
  if (thread() == 0) *block.end = 0;
  sync();
#pragma unroll
  for (u32 i = 0; i < kEach; ++i) {
    if (thread() * kEach + i + 1 == wanted) {
      *block.end = first_of(items.at[i], kFirstNotSelected - 1) + 1;
    }
  }
  sync();
  const Item end = *block.end;
  for (u32 at = 0; at < row.count; at += kTile) {
    selected += write_between(Tile(row, at), 0, end, selected, block.totals);
  }
}

// spare: as many as the row has. What is selected is in the order of places if there are two
// stages, else in any.
NEARFIELD_INLINE void select_first(const Question& row, NEARFIELD_GLOBAL Item* spare,
                                   NEARFIELD_GLOBAL Item* selected, const Block& block) {
  Question question = row;
  u32 taken = 0;
  for (u32 round = 0;; ++round) {
    Items<kEach> items = load(question, round);
    sort_block(items, block.exchange);
    if (question.count <= kSample) {
      if (kStages == 1) {
        write_first(items, question.wanted, selected + taken);
      } else {
        gather_up_to(items, question.wanted, row, selected, block);
      }
      return;
    }
    const Item splitter = items.at[kEach - 1];
    plant(splitter, block.tree);
    const Bucket bucket = find_bucket(question, splitter, block);
    narrow(question, bucket, spare, selected + taken, block);
    taken += bucket.before;
    question = {{reinterpret_cast<NEARFIELD_GLOBAL const u8*>(spare), kItems, 0},
                bucket.count,
                question.wanted - bucket.before};
  }
}

}  // namespace
}  // namespace nearfield::device

// values: rows of `count` of that kind; spare: as many items; selected: k a row, of which only
// those of numbers are written.
NEARFIELD_KERNEL sample(NEARFIELD_GLOBAL const void* values, nearfield::u32 kind,
                        nearfield::u32 count, nearfield::u32 largest, nearfield::u32 k,
                        NEARFIELD_GLOBAL nearfield::device::Item* spare,
                        NEARFIELD_GLOBAL nearfield::device::Item* selected) {
  NEARFIELD_BLOCK nearfield::device::Item exchange[nearfield::device::kSample];
  NEARFIELD_BLOCK nearfield::device::Item tree[nearfield::device::kBuckets];
  NEARFIELD_BLOCK nearfield::u32 counts[nearfield::device::kBuckets];
  NEARFIELD_BLOCK nearfield::u32 totals[nearfield::device::kThreads];
  NEARFIELD_BLOCK nearfield::device::Found found;
  NEARFIELD_BLOCK nearfield::device::Item end;
  const nearfield::u64 row = nearfield::device::block_x();
  nearfield::device::select_first(
      {nearfield::device::source_of_block(values, kind, count, largest), count, k},
      spare + row * count, selected + row * k, {exchange, tree, counts, totals, &found, &end});
}
