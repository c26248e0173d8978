// Bits to bytes. Included inside the namespace of each Highway target, after count-inl.h.

void expand(const std::uint32_t* blocks, std::int64_t words_of_all, std::int8_t* bytes) {
  const WordTag d;
  const Words ones = hn::Set(d, 0x01010101);
  for (std::int64_t w = 0; w < words_of_all; w += kBlockRows, bytes += 8 * kDepthBytes) {
    for (std::int64_t lane = 0; lane < kBlockRows; lane += kLanes) {
      Words words = hn::Load(d, blocks + w + lane);
      for (std::int64_t step = 0; step < 8; ++step, words = hn::ShiftRight<1>(words)) {
        hn::Store(hn::And(words, ones), d,
                  reinterpret_cast<std::uint32_t*>(bytes + step * kDepthBytes) + lane);
      }
    }
  }
}
