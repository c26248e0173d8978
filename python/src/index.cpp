// Vectors that are kept under ids.
#include <nearfield/index.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nearfield/error.hpp>

#include "bindings.hpp"
#include "results.hpp"
#include "rows.hpp"
#include "run.hpp"

namespace nearfield::python {
namespace {

using Ids = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::int64_t> view_of(const Ids& ids) { return {ids.data(), ids.size()}; }

// Keys, copied while the GIL is held.
class Keys {
 public:
  explicit Keys(const nb::list& keys) {
    for (const nb::handle key : keys) own_.push_back(text(nb::cast<nb::bytes>(key)));
    views_.assign(own_.begin(), own_.end());
  }
  std::span<const std::string_view> view() const { return views_; }

 private:
  std::vector<std::string> own_;
  std::vector<std::string_view> views_;
};

// Shared with the calls that run without the GIL: closing it leaves theirs to them.
class KeptIndex {
 public:
  KeptIndex(std::string family, std::string_view dtype, std::int64_t cols, std::string_view metric,
            bool keys)
      : index_(std::make_shared<Index>(IndexSpec{.family = std::move(family),
                                                 .dtype = parse_dtype(dtype),
                                                 .cols = cols,
                                                 .metric = parse_metric(metric),
                                                 .keys = keys})) {}
  explicit KeptIndex(Index index) : index_(std::make_shared<Index>(std::move(index))) {}

  std::shared_ptr<Index> get() const {
    if (index_ == nullptr) {
      throw Error(ErrorCode::invalid_argument, "the index is closed: open it again");
    }
    return index_;
  }
  void close() { index_.reset(); }

 private:
  std::shared_ptr<Index> index_;
};

// What has no answer, for run_call.
struct Done {};

template <class Call>
auto run(const KeptIndex& kept, const Run& run, const Call& call) {
  const std::shared_ptr<Index> index = kept.get();
  return run_call(run, [&](const Context& context) { return call(*index, context); });
}

std::int64_t add(KeptIndex& kept, const Rows& vectors, const std::optional<Ids>& ids,
                 const Run& settings) {
  const MatrixView view = vectors.source().in_memory().value();
  return run(kept, settings, [&](Index& index, const Context& context) {
    if (!ids) return index.add(view, context);
    index.add(view, view_of(*ids), context);
    return std::int64_t{0};
  });
}

std::int64_t upsert(KeptIndex& kept, const Rows& vectors, const Ids& ids, const Run& settings) {
  const MatrixView view = vectors.source().in_memory().value();
  return run(kept, settings, [&](Index& index, const Context& context) {
    return index.upsert(view, view_of(ids), context);
  });
}

nb::object add_keyed(KeptIndex& kept, const Rows& vectors, const nb::list& given,
                     const std::optional<Ids>& ids, const Run& settings) {
  const MatrixView view = vectors.source().in_memory().value();
  const Keys keys(given);
  return take(run(kept, settings, [&](Index& index, const Context& context) {
    return index.add(view, keys.view(), ids ? std::optional(view_of(*ids)) : std::nullopt, context);
  }));
}

std::int64_t upsert_keyed(KeptIndex& kept, const Rows& vectors, const nb::list& given,
                          const Run& settings) {
  const MatrixView view = vectors.source().in_memory().value();
  const Keys keys(given);
  return run(kept, settings, [&](Index& index, const Context& context) {
    return index.upsert(view, keys.view(), context);
  });
}

std::int64_t remove_keyed(KeptIndex& kept, const nb::list& given) {
  const std::shared_ptr<Index> index = kept.get();
  const Keys keys(given);
  const nb::gil_scoped_release released;
  return index->remove(keys.view());
}

nb::object ids_of(const KeptIndex& kept, const nb::list& given) {
  const std::shared_ptr<Index> index = kept.get();
  const Keys keys(given);
  std::vector<std::int64_t> ids = [&] {
    const nb::gil_scoped_release released;
    return index->ids_of(keys.view());
  }();
  return take(std::move(ids));
}

nb::list keys_of(const KeptIndex& kept, const Ids& ids) {
  const std::shared_ptr<Index> index = kept.get();
  const std::vector<std::string> keys = [&] {
    const nb::gil_scoped_release released;
    return index->keys_of(view_of(ids));
  }();
  nb::list list;
  for (const std::string& key : keys) list.append(nb::bytes(key.data(), key.size()));
  return list;
}

IdFilter filter_of(const std::optional<Ids>& only, const std::optional<Ids>& without) {
  if (only) return {IdFilter::Kind::only, view_of(*only)};
  if (without) return {IdFilter::Kind::without, view_of(*without)};
  return {};
}

nb::tuple search(const KeptIndex& kept, const Rows& queries, std::int64_t k,
                 const std::optional<Ids>& only, const std::optional<Ids>& without,
                 const Run& settings) {
  const MatrixView view = queries.source().in_memory().value();
  return to_python(run(kept, settings, [&](const Index& index, const Context& context) {
    return index.search(view, {k, filter_of(only, without)}, context);
  }));
}

nb::tuple within(const KeptIndex& kept, const Rows& queries, double radius,
                 const std::optional<Ids>& only, const std::optional<Ids>& without,
                 const Run& settings) {
  const MatrixView view = queries.source().in_memory().value();
  return to_python(run(kept, settings, [&](const Index& index, const Context& context) {
    return index.within(view, {radius, filter_of(only, without)}, context);
  }));
}

std::int64_t remove(KeptIndex& kept, const Ids& ids) {
  const std::shared_ptr<Index> index = kept.get();
  const nb::gil_scoped_release released;
  return index->remove(view_of(ids));
}

// A writer may be at work, or a page not in memory: others go on meanwhile.
bool contains(const KeptIndex& kept, std::int64_t id) {
  const std::shared_ptr<Index> index = kept.get();
  const nb::gil_scoped_release released;
  return index->contains(id);
}

nb::object get(const KeptIndex& kept, const Ids& ids) {
  const std::shared_ptr<Index> index = kept.get();
  Matrix rows = [&] {
    const nb::gil_scoped_release released;
    return index->get(view_of(ids));
  }();
  return take(std::move(rows));
}

nb::object ids(const KeptIndex& kept) {
  const std::shared_ptr<Index> index = kept.get();
  std::vector<std::int64_t> all = [&] {
    const nb::gil_scoped_release released;
    return index->ids();
  }();
  return take(std::move(all));
}

nb::dict stats(const KeptIndex& kept) {
  const std::shared_ptr<Index> index = kept.get();
  const IndexStats stats = [&] {
    const nb::gil_scoped_release released;
    return index->stats();
  }();
  nb::dict fields;
  fields["size"] = stats.size;
  fields["removed"] = stats.removed;
  fields["not_finite"] = stats.not_finite;
  fields["parts"] = stats.parts;
  fields["nbytes"] = stats.bytes;
  fields["mapped"] = stats.mapped;
  return fields;
}

nb::tuple spec(const KeptIndex& kept) {
  const IndexSpec spec = kept.get()->spec();
  return nb::make_tuple(spec.family, to_string(spec.dtype), spec.cols, to_string(spec.metric),
                        spec.keys);
}

}  // namespace

void bind_index(nb::module_& module) {
  nb::class_<KeptIndex>(module, "Index")
      .def(nb::init<std::string, std::string_view, std::int64_t, std::string_view, bool>())
      .def_static("open",
                  [](const nb::bytes& path, bool read_only, std::int64_t most_bytes,
                     std::int64_t most_cols) {
                    const std::string name = text(path);
                    OpenOptions options;
                    options.read_only = read_only;
                    options.most_bytes = most_bytes;
                    options.most_cols = most_cols;
                    const nb::gil_scoped_release released;
                    return KeptIndex(Index::open(name, options));
                  })
      .def("add", add, nb::arg("vectors"), nb::arg("ids").none(), nb::arg("run"))
      .def("upsert", upsert)
      .def("add_keyed", add_keyed, nb::arg("vectors"), nb::arg("keys"), nb::arg("ids").none(),
           nb::arg("run"))
      .def("upsert_keyed", upsert_keyed)
      .def("remove_keyed", remove_keyed)
      .def("ids_of", ids_of)
      .def("keys_of", keys_of)
      .def("remove", remove)
      .def("compact",
           [](KeptIndex& kept, const Run& settings) {
             run(kept, settings, [](Index& index, const Context& context) {
               index.compact(context);
               return Done();
             });
           })
      .def("save",
           [](const KeptIndex& kept, const nb::bytes& path, const Run& settings) {
             const std::string name = text(path);
             run(kept, settings, [&](const Index& index, const Context& context) {
               index.save(name, context);
               return Done();
             });
           })
      .def("contains", contains)
      .def("get", get)
      .def("ids", ids)
      .def("size", [](const KeptIndex& kept) { return kept.get()->size(); })
      .def("search", search, nb::arg("queries"), nb::arg("k"), nb::arg("only").none(),
           nb::arg("without").none(), nb::arg("run"))
      .def("within", within, nb::arg("queries"), nb::arg("radius"), nb::arg("only").none(),
           nb::arg("without").none(), nb::arg("run"))
      .def("stats", stats)
      .def("spec", spec)
      .def("close", &KeptIndex::close);
  module.def("verify_index", [](const nb::bytes& path, const Run& settings) {
    const std::string name = text(path);
    run_call(settings, [&](const Context& context) {
      verify_index(name, {}, context);
      return Done();
    });
  });
}

}  // namespace nearfield::python
