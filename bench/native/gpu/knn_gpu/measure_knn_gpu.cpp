// Figures of D. Hanák's thesis on exact search by GPUs (bench/reproduce knn-gpu runs it).
#include "bench/native/gpu/knn_gpu/figures.hpp"
#include "bench/native/gpu/program.hpp"

int main(int argc, char** argv) {
  using namespace nearfield::bench;
  return measure_figures("measure_knn_gpu",
                         {{"5.1", &measure_distances},
                          {"5.6", &measure_selections},
                          {"5.7", &measure_parts},
                          {"5.8", &measure_fused},
                          {"5.9", &measure_fused_queries},
                          {"5.11", &measure_large_selections},
                          {"5.12", &measure_searches},
                          {"5.13", &measure_speed_up},
                          {"5.14", &measure_transfer}},
                         argc, argv);
}
