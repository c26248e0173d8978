// The three nearest rows of two queries.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <vector>

#include <nearfield/nearfield.hpp>

int main() {
  // Five points of the plane, the second and the last the same; and two queries.
  const std::vector<float> points = {0, 0, 1, 0, 0, 2, 3, 3, 1, 0};
  const std::vector<float> asked = {1, 1, 3, 2};
  const nearfield::MatrixView base(points.data(), 5, 2);  // rows, columns: no copy is made
  const nearfield::MatrixView queries(asked.data(), 2, 2);

  nearfield::KnnOptions options;
  options.k = 3;
  options.metric = nearfield::Metric::euclidean;
  try {
    const nearfield::Neighbors found = nearfield::knn(queries, base, options);
    for (std::int64_t query = 0; query < found.queries; ++query) {
      std::cout << "query " << query << ':';
      for (std::size_t i = 0; i < 3; ++i) {
        std::cout << "  row " << found.ids_of(query)[i] << " at " << found.distances_of(query)[i];
      }
      std::cout << '\n';
    }
  } catch (const nearfield::Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
