// As much of the CUDA runtime as the plugin calls, on the memory of this machine: its host code
// runs where there is no card. Copies are done at once; a launch writes down what it was given.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace fake {

struct Card {
  std::string name;
  int major;
  int minor;
  std::size_t memory;
};

struct Launch {
  std::string kernel;
  int card;
  cudaStream_t stream;
  dim3 grid;
  dim3 block;
  std::vector<void*> arguments;  // each of 8 bytes
};

// The stream `behind` runs what is queued from then on after what was in `ahead`.
struct Wait {
  cudaStream_t behind;
  cudaStream_t ahead;
};

struct Runtime {
  int driver = 13000;
  cudaError_t counted = cudaSuccess;  // what cudaGetDeviceCount() says
  std::vector<Card> cards;

  int current = -1;  // the card of the thread's context; -1: it has none
  std::map<void*, int> memories;
  std::map<void*, std::size_t> sizes;
  std::set<cudaStream_t> streams;
  std::map<cudaEvent_t, cudaStream_t> events;
  std::vector<Launch> launches;
  std::vector<cudaMemcpyKind> copies;
  std::vector<Wait> waits_for;
  bool pins = true;            // memory of the host
  bool pins_read_only = true;  // also what may not be written to
  std::map<void*, std::size_t> pinned;
  int waits = 0;
};

Runtime& runtime();

// Memory of a card, as its owner allocates it, and the end of it.
void* allocate(int card, std::size_t bytes);
void free(void* memory);

}  // namespace fake
