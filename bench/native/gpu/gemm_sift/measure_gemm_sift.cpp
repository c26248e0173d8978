// What S. M. Richards's thesis on matching SIFT by products measures (bench/reproduce gemm-sift
// runs it).
#include "bench/native/gpu/gemm_sift/figures.hpp"
#include "bench/native/gpu/program.hpp"

int main(int argc, char** argv) {
  using namespace nearfield::bench;
  DataFolders folders;
  const auto with_folders = [&folders](void (*measure)(Measuring&, const DataFolders&)) {
    return [&folders, measure](Measuring& measuring) { measure(measuring, folders); };
  };
  return measure_figures(
      "measure_gemm_sift",
      {{"recall-sift", with_folders(&recall_of_sift)},
       {"recall-random", &recall_of_random},
       {"5.2", &measure_batches_of_many_rows},
       {"5.5", &measure_batches_of_many_queries},
       {"5.7", &measure_batches_of_few},
       {"5.9", &measure_padding},
       {"5.11", &measure_queues_of_many_rows},
       {"5.12", &measure_queues_of_many_queries},
       {"5.13", &measure_queues_of_few},
       {"times", with_folders(&measure_times)},
       {"frames", with_folders(&measure_frames)}},
      argc, argv, [&folders](CLI::App& app) {
        app.add_option("--sift", folders.sift, "Folder of sift-1m, of that size");
        app.add_option("--frames", folders.frames, "Folder of sift-pair-45k, of that size");
      });
}
