// What the paper on error-weighted hashing on GPUs measures (bench/reproduce ewh runs it).
#include "bench/native/gpu/ewh/figures.hpp"
#include "bench/native/gpu/program.hpp"

int main(int argc, char** argv) {
  using namespace nearfield::bench;
  std::string folder;
  const auto with_folder = [&folder](void (*measure)(Measuring&, const std::string&)) {
    return [&folder, measure](Measuring& measuring) { measure(measuring, folder); };
  };
  return measure_figures("measure_ewh",
                         {{"hashing", with_folder(&measure_hashing)},
                          {"hashing-shares", with_folder(&measure_hashing_shares)},
                          {"retrieval", with_folder(&measure_retrieval)},
                          {"shares", with_folder(&measure_shares)},
                          {"tables", with_folder(&measure_tables)},
                          {"nearness", with_folder(&measure_nearness)}},
                         argc, argv, [&folder](CLI::App& app) {
                           app.add_option("--bits", folder, "Folder of bits-512, of that size");
                         });
}
