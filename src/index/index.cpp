#include <nearfield/index.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <utility>

#include "core/checked.hpp"
#include "core/fail.hpp"
#include "core/monitor.hpp"
#include "index/family.hpp"
#include "index/index_file.hpp"
#include "index/parts.hpp"
#include "io/tensor_file.hpp"
#include "search/check_rows.hpp"

namespace nearfield {
namespace {

void check_spec(const IndexSpec& spec) {
  check_metric(spec.metric);
  if (spec.cols < 1 || spec.cols > kMaxCols) {
    fail(ErrorCode::invalid_argument, "an index has 1 to {} columns, got {}", kMaxCols, spec.cols);
  }
  const bool bits = spec.dtype == DType::bits;
  if ((info(spec.metric).input == MetricInput::bits) != bits) {
    fail(ErrorCode::invalid_argument, "{} does not compare vectors of {}", to_string(spec.metric),
         to_string(spec.dtype));
  }
}

void check_vectors(MatrixView vectors, const IndexSpec& spec) {
  if (vectors.dtype() != spec.dtype || (vectors.cols() != spec.cols && vectors.rows() > 0)) {
    fail(ErrorCode::invalid_argument,
         "the index has {} columns of {}, the vectors have {} of {}: convert them", spec.cols,
         to_string(spec.dtype), vectors.cols(), to_string(vectors.dtype()));
  }
  check_rows(vectors, 0, "vectors", false);
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
  std::unique_ptr<Family> family;
  // One writer at a time holds `writing`, for as long as it takes; who reads or changes `parts`
  // also holds `state`, for a moment. A writer may read them without.
  std::mutex writing;
  mutable std::mutex state;
  mutable Parts parts;  // views() keeps copies of what it gives
  std::int64_t next_id = 0;

  Impl(IndexSpec of, Parts with)
      : spec(std::move(of)), family(make_family(spec)), parts(std::move(with)) {}

  std::int64_t append(MatrixView vectors, std::span<const std::int64_t> ids,
                      const Context& context);
  std::vector<AskedPart> ask(const IdFilter& filter) const;
  void restrict(const IdFilter& filter, std::vector<AskedPart>& asked) const;
};

std::int64_t Index::Impl::append(MatrixView vectors, std::span<const std::int64_t> ids,
                                 const Context& context) {
  const Monitor monitor(context, vectors.rows());
  const Appended appended = parts.append(vectors, ids, monitor);
  const std::lock_guard lock(state);
  const std::int64_t replaced = parts.publish(appended);
  for (const std::int64_t id : ids) {
    if (id >= next_id) {
      next_id = id < std::numeric_limits<std::int64_t>::max() ? id + 1 : id;
    }
  }
  return replaced;
}

// An index without vectors is a part without rows.
std::vector<AskedPart> Index::Impl::ask(const IdFilter& filter) const {
  std::vector<AskedPart> asked;
  const std::lock_guard lock(state);
  for (PartView& view : parts.views()) asked.push_back({.view = std::move(view)});
  if (asked.empty()) {
    asked.push_back({.view = {std::make_shared<Part>(spec.dtype, spec.cols, 0), 0, nullptr}});
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
    const auto words = static_cast<std::size_t>(divide_up(part.view.count, 64));
    part.allowed = part.view.live != nullptr ? *part.view.live : RowBits(words, ~std::uint64_t{0});
  }
  for (const std::int64_t id : filter.ids) {
    const auto place = parts.find(id);
    if (!place) continue;
    const std::shared_ptr<const Part> held = parts.part(place->part);
    const auto part =
        std::ranges::find(asked, held, [](const AskedPart& p) { return p.view.part; });
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
  Parts parts(spec.dtype, spec.cols);
  impl_ = std::make_unique<Impl>(std::move(spec), std::move(parts));
}

Index Index::open(const std::string& path, const OpenOptions& options) {
  OpenedIndex opened = open_index_file(path, options);
  try {
    check_spec(opened.head.spec);
  } catch (const Error& error) {
    fail(ErrorCode::corrupt_file, "{}: {}", path, error.what());
  }
  auto impl = std::make_unique<Impl>(std::move(opened.head.spec), Parts(std::move(opened.part)));
  impl->next_id = opened.head.next_id;
  return Index(std::move(impl));
}

Index::Index(Index&&) noexcept = default;
Index& Index::operator=(Index&&) noexcept = default;
Index::~Index() = default;

const IndexSpec& Index::spec() const { return impl_->spec; }

std::int64_t Index::size() const {
  const std::lock_guard lock(impl_->state);
  return impl_->parts.live();
}

IndexStats Index::stats() const {
  const std::lock_guard lock(impl_->state);
  const Parts& parts = impl_->parts;
  return {.size = parts.live(),
          .removed = parts.removed(),
          .parts = static_cast<std::int64_t>(parts.size()),
          .bytes = parts.bytes(),
          .mapped = parts.mapped_bytes()};
}

void Index::add(MatrixView vectors, std::span<const std::int64_t> ids, const Context& context) {
  check_vectors(vectors, impl_->spec);
  check_given_ids(ids, vectors.rows());
  const std::lock_guard lock(impl_->writing);
  for (const std::int64_t id : ids) {
    if (impl_->parts.find(id)) {
      fail(ErrorCode::invalid_argument,
           "the id {} is in the index already: use upsert to replace its vector", id);
    }
  }
  impl_->append(vectors, ids, context);
}

std::int64_t Index::add(MatrixView vectors, const Context& context) {
  check_vectors(vectors, impl_->spec);
  const std::lock_guard lock(impl_->writing);
  const std::int64_t first = impl_->next_id;
  if (first > std::numeric_limits<std::int64_t>::max() - vectors.rows()) {
    fail(ErrorCode::invalid_argument,
         "no {} ids are left behind {}, the largest that was used: give ids of your own",
         vectors.rows(), first);
  }
  std::vector<std::int64_t> ids(static_cast<std::size_t>(vectors.rows()));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = first + static_cast<std::int64_t>(i);
  // Where next_id comes from a file that was changed, they may be in use.
  for (const std::int64_t id : ids) {
    if (impl_->parts.find(id)) {
      fail(ErrorCode::corrupt_file,
           "the index says that ids from {} on were never used, and {} is in it: its file was "
           "changed",
           first, id);
    }
  }
  impl_->append(vectors, ids, context);
  return first;
}

std::int64_t Index::upsert(MatrixView vectors, std::span<const std::int64_t> ids,
                           const Context& context) {
  check_vectors(vectors, impl_->spec);
  check_given_ids(ids, vectors.rows());
  const std::lock_guard lock(impl_->writing);
  return impl_->append(vectors, ids, context);
}

std::int64_t Index::remove(std::span<const std::int64_t> ids) {
  const std::lock_guard writing(impl_->writing);
  const std::lock_guard state(impl_->state);
  return impl_->parts.remove(ids);
}

void Index::compact(const Context& context) {
  const std::lock_guard writing(impl_->writing);
  if (impl_->parts.size() == 1 && impl_->parts.removed() == 0) return;
  const Monitor monitor(context, impl_->parts.live());
  std::shared_ptr<Part> all = impl_->parts.gathered(monitor);
  const std::lock_guard state(impl_->state);
  impl_->parts.replace_all(std::move(all));
}

bool Index::contains(std::int64_t id) const {
  const std::lock_guard lock(impl_->state);
  return impl_->parts.find(id).has_value();
}

Matrix Index::get(std::span<const std::int64_t> ids) const {
  Matrix rows(impl_->spec.dtype, std::ssize(ids), impl_->spec.cols);
  const auto bytes = static_cast<std::size_t>(row_bytes(rows.dtype(), rows.cols()));
  const std::lock_guard lock(impl_->state);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto place = impl_->parts.find(ids[i]);
    if (!place) fail(ErrorCode::invalid_argument, "the id {} is not in the index", ids[i]);
    std::memcpy(rows.row(static_cast<std::int64_t>(i)), impl_->parts.row(*place), bytes);
  }
  return rows;
}

std::vector<std::int64_t> Index::ids() const {
  std::vector<std::int64_t> ids;
  for (const AskedPart& part : impl_->ask({})) {
    const std::span<const std::int64_t> all = part.view.ids();
    for (std::int64_t row = 0; row < part.view.count; ++row) {
      if (part.view.lives(row)) ids.push_back(all[static_cast<std::size_t>(row)]);
    }
  }
  return ids;
}

Neighbors Index::search(MatrixView queries, const SearchOptions& options,
                        const Context& context) const {
  return impl_->family->search(queries, impl_->ask(options.filter), options.k, context);
}

Ranges Index::within(MatrixView queries, const RangeOptions& options,
                     const Context& context) const {
  return impl_->family->within(queries, impl_->ask(options.filter), options.radius, context);
}

void Index::save(const std::string& path, const Context& context) const {
  IndexHead head{.spec = impl_->spec};
  std::vector<PartView> parts;
  std::int64_t bytes = 0;
  {
    const std::lock_guard lock(impl_->state);
    head.next_id = impl_->next_id;
    parts = impl_->parts.views();
    bytes = impl_->parts.bytes();
  }
  Monitor monitor(context, bytes);
  OutputFile out(path, context.cancel);
  write_index_file(out, head, parts, monitor);
  out.commit();
  monitor.finish();
}

void verify_index(const std::string& path, const Context& context) {
  open_index_file(path, {});
  const TensorFile file(path);
  Monitor monitor(context, file.size());
  file.verify(monitor);
  monitor.finish();
}

}  // namespace nearfield
