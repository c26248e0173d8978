#include "info_command.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nearfield/nearfield.hpp>

#include "file_values.hpp"
#include "help.hpp"
#include "json.hpp"
#include "options.hpp"
#include "standard_output.hpp"
#include "vector_files.hpp"

namespace nearfield::cli {
namespace {

struct InfoArguments {
  std::vector<std::string> files;
  std::int64_t head = 0;
  bool values = false;
  bool json = false;
  bool quiet = false;
};

// One row of a file for people.
using Row = std::vector<std::string>;

// What one file says of itself, each fact once for both kinds of output.
struct Description {
  std::string path;
  FileInfo info;
  std::optional<VectorValues> vectors;  // of a truth file the distances
  std::optional<IdValues> ids;
  std::vector<Row> head;
};

std::string number_text(double value, bool is_double) {
  return is_double ? fmt::format("{}", value) : fmt::format("{}", static_cast<float>(value));
}

void describe_vectors(Description& file, const InfoArguments& args) {
  const auto rows = open_vectors(file.path);
  if (args.values) {
    file.vectors = values_of(*rows, args.quiet);
  }
  const Matrix head = first_rows(*rows, args.head);
  for (std::int64_t row = 0; row < head.rows(); ++row) {
    Row& texts = file.head.emplace_back();
    for (const double value : std::span(reinterpret_cast<const double*>(head.row(row)),
                                        static_cast<std::size_t>(head.cols()))) {
      texts.push_back(number_text(value, rows->dtype() == DType::f64));
    }
  }
}

void describe_ids(Description& file, const std::vector<std::int64_t>& ids,
                  const InfoArguments& args) {
  if (args.values) {
    file.ids = values_of(ids);
  }
  const std::int64_t cols = file.info.cols;
  for (std::int64_t row = 0; row < std::min(args.head, file.info.rows); ++row) {
    Row& texts = file.head.emplace_back();
    for (std::int64_t col = 0; col < cols; ++col) {
      texts.push_back(fmt::format("{}", ids[static_cast<std::size_t>(row * cols + col)]));
    }
  }
}

Description describe(const std::string& path, const InfoArguments& args) {
  Description file{path, describe_file(path), {}, {}, {}};
  if (!args.values && args.head == 0) {
    return file;
  }
  switch (file.info.content) {
    case FileInfo::Content::vectors:
      describe_vectors(file, args);
      break;
    case FileInfo::Content::ids:
      describe_ids(file, read_id_table(path).ids, args);
      break;
    case FileInfo::Content::truth: {
      const Truth truth = read_truth(path);
      describe_ids(file, truth.ids, args);
      if (args.values) {
        const auto count = static_cast<std::int64_t>(truth.distances.size());
        file.vectors = values_of(MatrixView(truth.distances.data(), count, 1));
      }
    }
  }
  return file;
}

std::string text_of(const Description& file) {
  const FileInfo& info = file.info;
  std::string text = fmt::format("{}: {}, {}, {} rows x {} columns, {} bytes\n", file.path,
                                 info.format, info.type, info.rows, info.cols, info.bytes);
  if (file.ids) {
    const auto& [range, missing] = *file.ids;
    text +=
        range ? fmt::format("  ids from {} to {}, {} are -1\n", range->least, range->most, missing)
              : fmt::format("  no ids, {} are -1\n", missing);
  }
  if (file.vectors) {
    const auto& [range, rows_not_finite] = *file.vectors;
    const bool is_truth = info.content == FileInfo::Content::truth;
    text += range ? fmt::format("  {} from {} to {}", is_truth ? "distances" : "values",
                                number_text(range->least, info.type == "f64"),
                                number_text(range->most, info.type == "f64"))
                  : std::string("  no finite value");
    text += fmt::format(", {} {} not finite\n", rows_not_finite, is_truth ? "are" : "rows are");
  }
  for (std::size_t row = 0; row < file.head.size(); ++row) {
    text += fmt::format("  row {}: {}\n", row, fmt::join(file.head[row], " "));
  }
  return text;
}

template <class T>
void add_range(JsonObject& json, const std::optional<Range<T>>& range) {
  if (range) {
    json.add("least", range->least).add("most", range->most);
  }
}

std::string json_of(const Description& file) {
  const FileInfo& info = file.info;
  JsonObject json;
  json.add("file", file.path)
      .add("format", info.format)
      .add("type", info.type)
      .add("rows", info.rows)
      .add("cols", info.cols)
      .add("bytes", info.bytes);
  if (file.ids) {
    JsonObject ids;
    add_range(ids, file.ids->range);
    json.add("ids", ids.add("missing", file.ids->missing));
  }
  if (file.vectors) {
    JsonObject values;
    add_range(values, file.vectors->range);
    json.add(info.content == FileInfo::Content::truth ? "distances" : "values",
             values.add("rows_not_finite", file.vectors->rows_not_finite));
  }
  if (!file.head.empty()) {
    JsonArray rows;
    for (const Row& row : file.head) {
      JsonArray numbers;
      for (const std::string& text : row) {
        numbers.add_number(text);
      }
      rows.add(numbers);
    }
    json.add("head", rows);
  }
  return json.text();
}

std::int64_t bytes_of(const std::string& path) {
  return static_cast<std::int64_t>(std::filesystem::file_size(path));
}

std::string text_of(const std::string& path, const PluginListing& listing) {
  std::string text = fmt::format("{}: HDF5, {} datasets, {} bytes\n", path, listing.datasets.size(),
                                 bytes_of(path));
  for (const PluginDataset& dataset : listing.datasets) {
    text +=
        fmt::format("  {}: {}, {}\n", dataset.name, dataset.type, fmt::join(dataset.shape, " x "));
  }
  for (const PluginAttribute& attribute : listing.attributes) {
    text += fmt::format("  attribute {} = {}\n", attribute.name, attribute.value);
  }
  return text;
}

std::string json_of(const std::string& path, const PluginListing& listing) {
  JsonArray datasets;
  for (const PluginDataset& dataset : listing.datasets) {
    JsonArray shape;
    for (const std::int64_t size : dataset.shape) {
      shape.add(size);
    }
    datasets.add(
        JsonObject().add("name", dataset.name).add("type", dataset.type).add("shape", shape));
  }
  JsonObject attributes;
  for (const PluginAttribute& attribute : listing.attributes) {
    attributes.add(attribute.name, attribute.value);
  }
  return JsonObject()
      .add("file", path)
      .add("format", "HDF5")
      .add("bytes", bytes_of(path))
      .add("datasets", datasets)
      .add("attributes", attributes)
      .text();
}

void print_tables(const std::string& path, const PluginListing& listing,
                  const InfoArguments& args) {
  if (args.values || args.head > 0) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("{}: --values and --head need a dataset, as in {}:train", path, path));
  }
  print_result(args.json ? json_of(path, listing) : text_of(path, listing));
}

std::string text_of(const std::string& path, const MetricFileInfo& info) {
  const std::string pivots = info.pivots == 0 ? "no pivots"
                                              : fmt::format("{} of {} pivots kept in {} bits",
                                                            info.kept, info.pivots, info.bits);
  return fmt::format("{}: index of objects, {}, {} objects, {}, {}, {} bytes\n", path, info.metric,
                     info.objects, pivots, info.signatures ? "signatures" : "no signatures",
                     info.bytes);
}

std::string json_of(const std::string& path, const MetricFileInfo& info) {
  return JsonObject()
      .add("file", path)
      .add("format", "index of objects")
      .add("metric", info.metric)
      .add("objects", info.objects)
      .add("pivots", info.pivots)
      .add("kept", info.kept)
      .add("bits", info.bits)
      .add("signatures", info.signatures)
      .add("bytes", info.bytes)
      .text();
}

std::string text_of(const std::string& path, const Quantizer& quantizer) {
  const QuantizerOptions& options = quantizer.options();
  const auto errors = quantizer.errors();
  return fmt::format(
      "{}: quantizer, {}, {} codebooks of {} bits, {} bytes a vector, {} columns{}, "
      "{} bytes\n",
      path, to_string(options.kind), options.codebooks, options.bits, quantizer.code_bytes(),
      quantizer.cols(),
      errors.empty() ? "" : fmt::format(", mean squared error {:.6g}", errors.back()),
      bytes_of(path));
}

std::string json_of(const std::string& path, const Quantizer& quantizer) {
  const QuantizerOptions& options = quantizer.options();
  JsonObject json;
  json.add("file", path)
      .add("format", "quantizer")
      .add("kind", to_string(options.kind))
      .add("codebooks", options.codebooks)
      .add("code_bits", options.bits)
      .add("code_bytes", quantizer.code_bytes())
      .add("cols", quantizer.cols());
  const auto errors = quantizer.errors();
  if (!errors.empty()) json.add("mean_squared_error", errors.back());
  return json.add("bytes", bytes_of(path)).text();
}

std::string text_of(const std::string& path, const Index& index) {
  const IndexSpec& spec = index.spec();
  return fmt::format("{}: index, {}, {}, {}, {} rows x {} columns, {} bytes\n", path, spec.family,
                     to_string(spec.metric), to_string(spec.dtype), index.size(), spec.cols,
                     bytes_of(path));
}

std::string json_of(const std::string& path, const Index& index) {
  const IndexSpec& spec = index.spec();
  return JsonObject()
      .add("file", path)
      .add("format", "index")
      .add("family", spec.family)
      .add("metric", to_string(spec.metric))
      .add("type", to_string(spec.dtype))
      .add("rows", index.size())
      .add("cols", spec.cols)
      .add("bytes", bytes_of(path))
      .text();
}

// Of what safetensors hold.
void print_tensors(const std::string& path, const InfoArguments& args) {
  if (args.values || args.head > 0) {
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format("{}: --values and --head are for files of vectors, and this is an index or a "
                    "quantizer",
                    path));
  }
  const auto print = [&](const auto& held) {
    print_result(args.json ? json_of(path, held) : text_of(path, held));
  };
  if (is_quantizer_file(path)) {
    print(Quantizer::open(path));
  } else if (const auto info = metric_file_info(path)) {
    print(*info);
  } else {
    print(Index::open(path));
  }
}

void run_info(const InfoArguments& args) {
  for (const std::string& path : args.files) {
    if (!is_hdf5(path) && begins_as_index(path)) {
      print_tensors(path, args);
      continue;
    }
    if (const auto listing = list_tables(path)) {
      print_tables(path, *listing, args);
      continue;
    }
    const Description file = describe(path, args);
    print_result(args.json ? json_of(file) : text_of(file));
  }
}

}  // namespace

void add_info_command(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("info", "What files hold");
  const auto args = std::make_shared<InfoArguments>();
  command
      ->add_option("FILE", args->files,
                   "Files of vectors, ids or ground truth; indexes; quantizers; HDF5 files")
      ->required()
      ->type_name("FILE");
  command->add_flag("--values", args->values,
                    "Read all values too: their range, rows that are not finite, ids that are -1");
  add_parsed(*command, "--head", args->head, count_within(0, kMaxRows), "Show the first rows")
      ->type_name("N")
      ->default_str("0");
  command->add_flag("--json", args->json, "Print one JSON object a file, a line each");
  command->add_flag("--quiet", args->quiet, "No progress on standard error");
  command->footer(
      help_footer("two files and their first rows", "nearfield info q.fbin b.fbin --head 2"));
  command->callback([args] { run_info(*args); });
}

}  // namespace nearfield::cli
