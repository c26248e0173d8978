// Rows that are picked one by one. Included inside the namespace of each Highway target.

inline std::uint64_t bits_at(const std::byte* bytes) {
  std::uint64_t word;
  __builtin_memcpy(&word, bytes, sizeof word);
  return word;
}

// Rows are as far from each other as memory is slow: an instruction for 64 bits is enough, and all
// targets but the oldest have it.
inline void count_picked(const PickedBits& job) {
  const std::int64_t words = job.bytes / 8;
  const std::int64_t tail_bytes = job.bytes % 8;
  for (std::int64_t i = 0; i < job.count; ++i) {
    const std::byte* const row = job.rows + job.picks[i] * job.stride;
    int differing = 0;
    for (std::int64_t word = 0; word < words; ++word) {
      differing += __builtin_popcountll(job.query[word] ^ bits_at(row + 8 * word));
    }
    if (tail_bytes != 0) {
      std::uint64_t tail = 0;
      __builtin_memcpy(&tail, row + 8 * words, static_cast<std::size_t>(tail_bytes));
      differing += __builtin_popcountll(job.query[words] ^ tail);
    }
    job.differing[i] = static_cast<std::uint32_t>(differing);
  }
}
