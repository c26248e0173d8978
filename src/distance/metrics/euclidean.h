// Euclidean distance: ordered by its square, so that no rounding of a root can swap neighbours.
struct euclidean : sqeuclidean {
  static constexpr Reported reported = Reported::root;
};
