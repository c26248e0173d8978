#include "search_commands.hpp"

namespace nearfield::cli {

void add_search_commands(CLI::App& app, Mode mode) {
  add_knn_command(app, mode);
  add_graph_command(app, mode);
  add_range_command(app, mode);
  add_pairs_command(app, mode);
  add_mutual_command(app, mode);
  add_match_command(app, mode);
  add_groundtruth_command(app, mode);
}

}  // namespace nearfield::cli
