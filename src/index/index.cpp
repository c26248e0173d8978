#include <nearfield/index.hpp>

#include <algorithm>
#include <limits>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <utility>

#include "core/fail.hpp"
#include "core/memory_errors.hpp"
#include "core/monitor.hpp"
#include "core/tasks.hpp"
#include "device/device_name.hpp"
#include "index/family.hpp"
#include "index/index_file.hpp"
#include "index/key_column.hpp"
#include "index/opened_family.hpp"
#include "index/parts.hpp"
#include "search/check_rows.hpp"

namespace nearfield {
namespace {

constexpr std::string_view kIndex = "an index";

void check_vectors(MatrixView vectors, const IndexSpec& spec, const Family& family,
                   const Context& context) {
  family.check_build_device(context);
  resolve_threads(context.threads);  // also where they are not used: a wrong number is one
  if (vectors.dtype() != spec.dtype || (vectors.cols() != spec.cols && vectors.rows() > 0)) {
    fail(ErrorCode::invalid_argument,
         "the index has {} columns of {}, the vectors have {} of {}: convert them", spec.cols,
         to_string(spec.dtype), vectors.cols(), to_string(vectors.dtype()));
  }
  check_rows(vectors, 0, "vectors", false);
  if (context.memory_limit && vectors.rows() > *context.memory_limit / Parts::kLookUpBytes) {
    fail(ErrorCode::memory_limit,
         "adding {} vectors takes more than {} bytes each but the memory limit is {}: raise it, or "
         "add fewer at a time",
         vectors.rows(), Parts::kLookUpBytes, *context.memory_limit);
  }
}

// Calls add(), of which nothing is seen where it throws.
template <class Add>
auto adding(MatrixView vectors, const Add& add) {
  return with_memory_errors(
      fmt::format("{} vectors of {} bytes that are added: add fewer at a time", vectors.rows(),
                  row_bytes(vectors.dtype(), vectors.cols())),
      add);
}

std::string searching(MatrixView queries) {
  return fmt::format("{} queries of {} columns: search fewer at a time", queries.rows(),
                     queries.cols());
}

// Of a call with keys or without.
void check_keys(const IndexSpec& spec, bool given) {
  if (spec.keys == given) return;
  fail(ErrorCode::invalid_argument, "{}",
       given ? "the index has no keys: make it with them"
             : "the index has keys: give one for each vector");
}

void check_given_keys(std::span<const std::string_view> keys, std::int64_t rows) {
  if (std::ssize(keys) != rows) {
    fail(ErrorCode::invalid_argument, "there are {} keys for {} vectors", keys.size(), rows);
  }
  std::vector<std::string_view> sorted(keys.begin(), keys.end());
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    fail(ErrorCode::invalid_argument, "the key '{}' is given to more than one of the vectors",
         quotable(*twice));
  }
}

void check_given_ids(std::span<const std::int64_t> ids, std::int64_t rows) {
  if (std::ssize(ids) != rows) {
    fail(ErrorCode::invalid_argument, "there are {} ids for {} vectors", ids.size(), rows);
  }
  std::vector<std::int64_t> sorted(ids.begin(), ids.end());
  std::ranges::sort(sorted);
  if (std::ranges::binary_search(sorted, kNoId)) {
    fail(ErrorCode::invalid_argument, "the id {} stands for \"not found\": give another", kNoId);
  }
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end()) {
    fail(ErrorCode::invalid_argument, "the id {} is given to more than one of the vectors", *twice);
  }
}

}  // namespace

struct Index::Impl {
  IndexSpec spec;
  std::shared_ptr<const Family> family;
  bool read_only = false;
  // One writer at a time holds `writing`, for as long as it takes. Who reads `parts` shares
  // `state`, for a moment, and who changes them has it alone; a writer may read them without.
  // views() keeps copies of what it gives, for which readers take turns.
  std::mutex writing;
  mutable std::mutex entering;  // so that readers who come one after the other let a writer in
  mutable std::shared_mutex state;
  mutable std::mutex viewing;
  mutable Parts parts;
  std::int64_t next_id = 0;

  Impl(IndexSpec of, std::shared_ptr<const Family> searched_by, Parts with)
      : spec(std::move(of)), family(std::move(searched_by)), parts(std::move(with)) {}

  // Before anything is changed.
  std::unique_lock<std::mutex> start_writing();
  std::shared_lock<std::shared_mutex> read() const {
    const std::lock_guard turn(entering);
    return std::shared_lock(state);
  }
  std::unique_lock<std::shared_mutex> change() {
    const std::lock_guard turn(entering);
    return std::unique_lock(state);
  }
  std::int64_t append(const NewRows& rows, const Context& context);
  // While writing.
  void check_new(std::span<const std::int64_t> ids) const;
  void check_new(std::span<const std::string_view> keys) const;
  std::vector<std::int64_t> next_ids(std::int64_t count) const;
  // While the state is held.
  std::vector<PartView> views() const;
  std::vector<AskedPart> ask(const IdFilter& filter) const;
  void restrict(const IdFilter& filter, std::vector<AskedPart>& asked) const;
};

std::unique_lock<std::mutex> Index::Impl::start_writing() {
  if (read_only) {
    fail(ErrorCode::invalid_argument, "the index was opened to be read only: open it without that");
  }
  return std::unique_lock(writing);
}

std::vector<PartView> Index::Impl::views() const {
  const std::lock_guard lock(viewing);
  return parts.views();
}

std::int64_t Index::Impl::append(const NewRows& rows, const Context& context) {
  const Appended appended = parts.append(rows, context);
  const auto lock = change();
  parts.publish(appended);
  for (const std::int64_t id : rows.ids) {
    if (id >= next_id) {
      next_id = id < std::numeric_limits<std::int64_t>::max() ? id + 1 : id;
    }
  }
  return std::ssize(appended.replaced);
}

// An index without vectors is a part without rows.
std::vector<AskedPart> Index::Impl::ask(const IdFilter& filter) const {
  std::vector<AskedPart> asked;
  const auto lock = read();
  for (PartView& view : views()) asked.push_back({.view = std::move(view)});
  if (asked.empty()) {
    asked.push_back({.view = {std::make_shared<Part>(spec, 0), 0, nullptr}});
  }
  if (filter.kind != IdFilter::Kind::all) restrict(filter, asked);
  return asked;
}

// While the state is held: what an id leads to must not change before the search sees it.
void Index::Impl::restrict(const IdFilter& filter, std::vector<AskedPart>& asked) const {
  const bool only = filter.kind == IdFilter::Kind::only;
  for (AskedPart& part : asked) {
    part.only_listed = only;
    if (only) continue;
    part.allowed = part.view.live != nullptr
                       ? *part.view.live
                       : RowBits(words_of_rows(part.view.count), ~std::uint64_t{0});
  }
  for (const std::int64_t id : filter.ids) {
    const auto place = parts.find(id);
    if (!place) continue;
    const std::shared_ptr<const Part> held = parts.part(place->part);
    const auto part =
        std::ranges::find(asked, held, [](const AskedPart& p) { return p.view.part; });
    if (part == asked.end()) continue;
    if (only) {
      part->listed.push_back(place->row);
    } else {
      part->allowed[static_cast<std::size_t>(place->row / 64)] &=
          ~(std::uint64_t{1} << (place->row % 64));
    }
  }
}

Index::Index(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Index::Index(IndexSpec spec) {
  check_spec(spec);
  const std::shared_ptr<const Family> family = make_family(spec);
  Parts parts(spec, family);
  impl_ = std::make_unique<Impl>(std::move(spec), family, std::move(parts));
}

Index Index::open(const std::string& path, const OpenOptions& options) {
  OpenedIndex opened = open_index_file(path, options);
  const std::shared_ptr<const Family> family = check_opened(opened.head.spec, path);
  SharedFamilyData data = open_family(*family, *opened.part, path);
  Parts parts(std::move(opened.part), std::move(data), opened.head.spec, family);
  auto impl = std::make_unique<Impl>(std::move(opened.head.spec), family, std::move(parts));
  impl->next_id = opened.head.next_id;
  impl->read_only = options.read_only;
  return Index(std::move(impl));
}

Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;
Index::~Index() = default;

const IndexSpec& Index::spec() const { return impl_->spec; }

std::int64_t Index::size() const {
  const auto lock = impl_->read();
  return impl_->parts.live();
}

IndexStats Index::stats() const {
  const auto lock = impl_->read();
  const Parts& parts = impl_->parts;
  return {.size = parts.live(),
          .removed = parts.removed(),
          .not_finite = parts.not_finite(),
          .parts = static_cast<std::int64_t>(parts.size()),
          .bytes = parts.bytes(),
          .mapped = parts.mapped_bytes()};
}

void Index::Impl::check_new(std::span<const std::int64_t> ids) const {
  for (const std::int64_t id : ids) {
    if (parts.find(id)) {
      fail(ErrorCode::invalid_argument,
           "the id {} is in the index already: use upsert to replace its vector", id);
    }
  }
}

void Index::Impl::check_new(std::span<const std::string_view> keys) const {
  for (const std::string_view key : keys) {
    if (parts.find(key)) {
      fail(ErrorCode::invalid_argument,
           "the key '{}' is in the index already: use upsert to replace its vector", quotable(key));
    }
  }
}

std::vector<std::int64_t> Index::Impl::next_ids(std::int64_t count) const {
  if (next_id > std::numeric_limits<std::int64_t>::max() - count) {
    fail(ErrorCode::invalid_argument,
         "no {} ids are left behind {}, the largest that was used: give ids of your own", count,
         next_id);
  }
  std::vector<std::int64_t> ids(static_cast<std::size_t>(count));
  std::iota(ids.begin(), ids.end(), next_id);
  // Where next_id comes from a file that was changed, they may be in use.
  for (const std::int64_t id : ids) {
    if (parts.find(id)) {
      fail(ErrorCode::corrupt_file,
           "the index says that ids from {} on were never used, and {} is in it: its file was "
           "changed",
           next_id, id);
    }
  }
  return ids;
}

void Index::add(MatrixView vectors, std::span<const std::int64_t> ids, const Context& context) {
  check_vectors(vectors, impl_->spec, *impl_->family, context);
  check_keys(impl_->spec, false);
  adding(vectors, [&] {
    check_given_ids(ids, vectors.rows());
    const auto lock = impl_->start_writing();
    impl_->check_new(ids);
    impl_->append({vectors, ids, {}, {}}, context);
  });
}

std::int64_t Index::add(MatrixView vectors, const Context& context) {
  check_vectors(vectors, impl_->spec, *impl_->family, context);
  check_keys(impl_->spec, false);
  return adding(vectors, [&] {
    const auto lock = impl_->start_writing();
    const std::int64_t first = impl_->next_id;
    impl_->append({vectors, impl_->next_ids(vectors.rows()), {}, {}}, context);
    return first;
  });
}

std::vector<std::int64_t> Index::add(MatrixView vectors, std::span<const std::string_view> keys,
                                     std::optional<std::span<const std::int64_t>> ids,
                                     const Context& context) {
  check_vectors(vectors, impl_->spec, *impl_->family, context);
  check_keys(impl_->spec, true);
  return adding(vectors, [&] {
    check_given_keys(keys, vectors.rows());
    if (ids) check_given_ids(*ids, vectors.rows());
    const auto lock = impl_->start_writing();
    std::vector<std::int64_t> taken;
    if (ids) {
      impl_->check_new(*ids);
      taken.assign(ids->begin(), ids->end());
    } else {
      taken = impl_->next_ids(vectors.rows());
    }
    impl_->check_new(keys);
    impl_->append({vectors, taken, keys, {}}, context);
    return taken;
  });
}

std::int64_t Index::upsert(MatrixView vectors, std::span<const std::int64_t> ids,
                           const Context& context) {
  check_vectors(vectors, impl_->spec, *impl_->family, context);
  return adding(vectors, [&] {
    check_given_ids(ids, vectors.rows());
    const auto lock = impl_->start_writing();
    NewRows rows{vectors, ids, {}, {}};
    std::vector<std::string_view> keys;
    for (const std::int64_t id : ids) {
      const auto place = impl_->parts.find(id);
      if (!place && impl_->spec.keys) {
        fail(ErrorCode::invalid_argument,
             "the id {} is not in the index, which has keys: give it one, with the keys of the "
             "others",
             id);
      }
      if (place) rows.replaced.push_back(id);
      if (impl_->spec.keys) keys.push_back(impl_->parts.key(*place));
    }
    rows.keys = keys;
    return impl_->append(rows, context);
  });
}

std::int64_t Index::upsert(MatrixView vectors, std::span<const std::string_view> keys,
                           const Context& context) {
  check_vectors(vectors, impl_->spec, *impl_->family, context);
  check_keys(impl_->spec, true);
  return adding(vectors, [&] {
    check_given_keys(keys, vectors.rows());
    const auto lock = impl_->start_writing();
    std::vector<std::int64_t> ids(keys.size());
    NewRows rows{vectors, ids, keys, {}};
    std::vector<std::size_t> fresh;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto place = impl_->parts.find(keys[i]);
      if (place) {
        ids[i] = impl_->parts.id(*place);
        // Of a file that was changed, a key may lead to a row that its id does not lead to.
        if (impl_->parts.find(ids[i])) rows.replaced.push_back(ids[i]);
      } else {
        fresh.push_back(i);
      }
    }
    const std::vector<std::int64_t> next = impl_->next_ids(std::ssize(fresh));
    for (std::size_t i = 0; i < fresh.size(); ++i) ids[fresh[i]] = next[i];
    check_given_ids(ids, vectors.rows());  // those of a file that was changed may be any
    return impl_->append(rows, context);
  });
}

std::int64_t Index::remove(std::span<const std::int64_t> ids) {
  const auto writing = impl_->start_writing();
  const auto lock = impl_->change();
  return impl_->parts.remove(ids);
}

std::int64_t Index::remove(std::span<const std::string_view> keys) {
  check_keys(impl_->spec, true);
  const auto writing = impl_->start_writing();
  std::vector<std::int64_t> ids;
  for (const std::string_view key : keys) {
    if (const auto place = impl_->parts.find(key)) ids.push_back(impl_->parts.id(*place));
  }
  const auto lock = impl_->change();
  return impl_->parts.remove(ids);
}

void Index::compact(const Context& context) {
  check_on_cpu(context, kIndex);
  resolve_threads(context.threads);
  const auto writing = impl_->start_writing();
  if (impl_->parts.size() == 1 && impl_->parts.removed() == 0) return;
  const std::string what =
      fmt::format("a copy of an index of {} bytes: save it and open it, which is the same",
                  impl_->parts.bytes());
  with_memory_errors(what, [&] {
    const Appended all = impl_->parts.gathered(context);
    std::vector<std::shared_ptr<Part>> old;  // freed when others can read again
    const auto lock = impl_->change();
    old = impl_->parts.replace_all(all);
  });
}

bool Index::contains(std::int64_t id) const {
  const auto lock = impl_->read();
  return impl_->parts.find(id).has_value();
}

bool Index::contains(std::string_view key) const {
  check_keys(impl_->spec, true);
  const auto lock = impl_->read();
  return impl_->parts.find(key).has_value();
}

std::vector<std::int64_t> Index::ids_of(std::span<const std::string_view> keys) const {
  check_keys(impl_->spec, true);
  std::vector<std::int64_t> ids;
  ids.reserve(keys.size());
  const auto lock = impl_->read();
  for (const std::string_view key : keys) {
    const auto place = impl_->parts.find(key);
    ids.push_back(place ? impl_->parts.id(*place) : kNoId);
  }
  return ids;
}

std::vector<std::string> Index::keys_of(std::span<const std::int64_t> ids) const {
  check_keys(impl_->spec, true);
  std::vector<std::string> keys;
  keys.reserve(ids.size());
  const auto lock = impl_->read();
  for (const std::int64_t id : ids) {
    const auto place = impl_->parts.find(id);
    keys.emplace_back(place ? impl_->parts.key(*place) : std::string_view());
  }
  return keys;
}

Matrix Index::get(std::span<const std::int64_t> ids) const {
  // Rows stay where they are while their part is kept: only finding them needs the state.
  std::vector<std::shared_ptr<const Part>> kept;
  std::vector<Place> found;
  {
    const auto lock = impl_->read();
    for (std::size_t i = 0; i < impl_->parts.size(); ++i) kept.push_back(impl_->parts.part(i));
    for (const std::int64_t id : ids) {
      const auto place = impl_->parts.find(id);
      if (!place) fail(ErrorCode::invalid_argument, "the id {} is not in the index", id);
      found.push_back(*place);
    }
  }
  Matrix rows(impl_->spec.dtype, std::ssize(ids), impl_->spec.cols);
  for (std::size_t i = 0; i < found.size(); ++i) {
    kept[found[i].part]->read(found[i].row, 1, rows, static_cast<std::int64_t>(i));
  }
  return rows;
}

std::vector<IndexPart> Index::parts() const {
  std::vector<IndexPart> parts;
  const auto lock = impl_->read();
  for (const PartView& view : impl_->views()) {
    const auto kept = std::make_shared<const PartView>(view);
    parts.push_back(
        {.rows = rows_of(kept),
         .ids = kept->ids(),
         .live = kept->live != nullptr ? std::span(*kept->live) : std::span<const std::uint64_t>(),
         .kept = kept});
  }
  return parts;
}

std::vector<std::int64_t> Index::ids() const {
  std::vector<std::int64_t> ids;
  for (const AskedPart& part : impl_->ask({})) {
    for (std::int64_t row = 0; row < part.view.count; ++row) {
      if (part.view.lives(row)) ids.push_back(part.view.part->id(row));
    }
  }
  return ids;
}

Neighbors Index::search(MatrixView queries, const SearchOptions& options,
                        const Context& context) const {
  impl_->family->check_search_device(context);
  return with_memory_errors(searching(queries), [&] {
    return impl_->family->search(queries, impl_->ask(options.filter), options.k, context);
  });
}

Ranges Index::within(MatrixView queries, const RangeOptions& options,
                     const Context& context) const {
  impl_->family->check_search_device(context);
  return with_memory_errors(searching(queries), [&] {
    return impl_->family->within(queries, impl_->ask(options.filter), options.radius, context);
  });
}

void Index::save(const std::string& path, const Context& context) const {
  check_on_cpu(context, kIndex);
  const std::string what = fmt::format("the tables of {} ids that are written: free some", size());
  with_memory_errors(what, [&] {
    IndexHead head{.spec = impl_->spec};
    std::vector<PartView> parts;
    {
      const auto lock = impl_->read();
      head.next_id = impl_->next_id;
      parts = impl_->views();
    }
    check_writing(head.spec, *impl_->family, parts, context);
    OutputFile out(path, context.cancel);
    write_index_file(out, head, *impl_->family, parts, context);
    out.commit();
  });
}

}  // namespace nearfield
