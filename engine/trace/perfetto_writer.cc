#include "engine/trace/perfetto_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "engine/trace/atomic_file.h"
#include "engine/trace/trace_recorder.h"
#include "engine/trace/track_name.h"

namespace hoccl::engine {
namespace {

/// A line of the timeline: a track, or one of the further rows that its overlapping events need.
struct Line {
  Track track;
  std::int32_t row = 0;

  auto operator<=>(const Line&) const = default;
};

/// Events of a trace, each with the line it is drawn on.
struct Layout {
  std::vector<std::int32_t> row_of_event;
  std::set<Line> lines;
};

/// First-fit: the lowest row of the track that is free when the event begins.
Layout lay_out(const std::vector<TraceEvent>& events) {
  Layout layout;
  layout.row_of_event.reserve(events.size());
  std::map<Track, std::vector<std::int64_t>> free_from;
  for (const TraceEvent& event : events) {
    std::vector<std::int64_t>& rows = free_from[event.track];
    const std::int64_t begin = nanoseconds(event.begin);
    auto row = std::find_if(rows.begin(), rows.end(),
                            [begin](std::int64_t time_ns) { return time_ns <= begin; });
    if (row == rows.end()) row = rows.insert(rows.end(), 0);
    *row = nanoseconds(event.end);
    const auto index = static_cast<std::int32_t>(row - rows.begin());
    layout.row_of_event.push_back(index);
    layout.lines.insert({event.track, index});
  }
  return layout;
}

/// Position of an event's arrow end along its chunk's path.
enum class ArrowPart : char { kStart = 's', kStep = 't', kFinish = 'f' };

struct Arrow {
  std::int64_t id;
  ArrowPart part;
};

/// An arrow per chunk that has more than one leg, numbered from `next_id` on; id -1 elsewhere.
std::vector<Arrow> arrows_of(const std::vector<TraceEvent>& events, std::int64_t& next_id) {
  std::vector<std::size_t> with_chunk;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!events[i].flow.is_none()) with_chunk.push_back(i);
  }
  const auto key = [&events](std::size_t i) {
    return std::tuple(events[i].operation, events[i].flow, events[i].chunk);
  };
  // A write leaves one NIC when it enters the other, so the kind decides which comes first.
  const auto order = [&](std::size_t i) {
    return std::tuple(key(i), nanoseconds(events[i].begin), events[i].track.kind);
  };
  std::stable_sort(
      with_chunk.begin(), with_chunk.end(),
      [&order](std::size_t left, std::size_t right) { return order(left) < order(right); });
  std::vector<Arrow> arrows(events.size(), Arrow{-1, ArrowPart::kStep});
  for (std::size_t first = 0; first < with_chunk.size();) {
    std::size_t last = first;
    while (last + 1 < with_chunk.size() && key(with_chunk[last + 1]) == key(with_chunk[first])) {
      ++last;
    }
    for (std::size_t i = first; last > first && i <= last; ++i) {
      const ArrowPart part = i == first  ? ArrowPart::kStart
                             : i == last ? ArrowPart::kFinish
                                         : ArrowPart::kStep;
      arrows[with_chunk[i]] = {next_id, part};
    }
    if (last > first) ++next_id;
    first = last + 1;
  }
  return arrows;
}

/// Writes array elements, one a line.
class ArrayWriter {
 public:
  explicit ArrayWriter(std::ostream& stream) : stream_(stream) {}

  template <class... Arguments>
  void element(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    const auto out = std::back_inserter(text_);
    if (!first_) fmt::format_to(out, ",\n");
    first_ = false;
    fmt::format_to(out, format, std::forward<Arguments>(arguments)...);
    constexpr std::size_t kFlushAt = 1 << 16;
    if (text_.size() >= kFlushAt) flush();
  }

  void flush() {
    stream_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

 private:
  std::ostream& stream_;
  fmt::memory_buffer text_;
  bool first_ = true;
};

/// Microseconds with three decimals: exact nanoseconds, without going through a double.
std::string microseconds_text(std::int64_t time_ns) {
  return fmt::format("{}.{:03}", time_ns / 1000, time_ns % 1000);
}

/// Writes timelines one after the other. Viewers treat process and thread 0 as the idle task, so
/// all numbers start at 1. Threads are numbered across processes because some importers key by
/// thread alone.
class TraceWriter {
 public:
  explicit TraceWriter(ArrayWriter& writer) : writer_(writer) {}

  void write(const NamedTrace& trace) {
    const std::vector<TraceEvent> sorted = in_file_order(trace.events);
    const Layout layout = lay_out(sorted);
    const std::vector<Arrow> arrows = arrows_of(sorted, next_arrow_);
    threads_.clear();
    for (const Line& line : layout.lines) threads_.emplace(line, next_thread_++);
    write_names(trace.name);
    std::int32_t last_rank = -1;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      write_event(sorted[i], threads_.at({sorted[i].track, layout.row_of_event[i]}), arrows[i]);
      last_rank = std::max(last_rank, sorted[i].track.rank.value());
    }
    first_process_ += last_rank + 1;
  }

 private:
  [[nodiscard]] std::int32_t process_of(Rank rank) const { return first_process_ + rank.value(); }

  /// Names and order of processes and threads.
  void write_names(std::string_view prefix) {
    Rank named;
    for (const auto& [line, thread] : threads_) {
      const Rank rank = line.track.rank;
      const std::int32_t process = process_of(rank);
      if (rank != named) {
        named = rank;
        writer_.element(
            R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"{}{}rank {}"}}}})",
            process, prefix, prefix.empty() ? "" : " ", rank);
        writer_.element(
            R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})",
            process, process - 1);
      }
      const std::string name = line.row == 0
                                   ? track_name(line.track)
                                   : fmt::format("{} ({})", track_name(line.track), line.row + 1);
      writer_.element(
          R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"{}"}}}})", process,
          thread, name);
      writer_.element(
          R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
          process, thread, thread);
    }
  }

  void write_event(const TraceEvent& event, std::int32_t thread, const Arrow& arrow) {
    const std::int32_t process = process_of(event.track.rank);
    const std::int64_t begin = nanoseconds(event.begin);
    const std::string at = microseconds_text(begin);
    const std::string duration = microseconds_text(nanoseconds(event.end) - begin);
    if (event.flow.is_none()) {
      writer_.element(R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{},"dur":{}}})", event.name,
                      process, thread, at, duration);
      return;
    }
    writer_.element(R"({{"ph":"X","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},)"
                    R"("args":{{"operation":"{}","flow":{},"chunk":{},"bytes":{}}}}})",
                    event.name, process, thread, at, duration, event.operation, event.flow,
                    event.chunk, event.size.count());
    if (arrow.id < 0) return;
    // "bp":"e" ties the arrow's end to the event around it instead of to the next one.
    writer_.element(
        R"({{"ph":"{}","name":"chunk","cat":"chunk","id":{},"pid":{},"tid":{},"ts":{},"bp":"e"}})",
        static_cast<char>(arrow.part), arrow.id, process, thread, at);
  }

  ArrayWriter& writer_;
  std::map<Line, std::int32_t> threads_;  ///< of the timeline that is being written
  std::int32_t first_process_ = 1;
  std::int32_t next_thread_ = 1;
  std::int64_t next_arrow_ = 1;
};

}  // namespace

void write_trace_perfetto(std::ostream& stream, std::span<const NamedTrace> traces) {
  stream << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  ArrayWriter array(stream);
  TraceWriter writer(array);
  for (const NamedTrace& trace : traces) writer.write(trace);
  array.flush();
  stream << "\n]}\n";
}

void write_trace_perfetto(std::ostream& stream, std::span<const TraceEvent> events) {
  const NamedTrace only{.name = {}, .events = events};
  write_trace_perfetto(stream, std::span(&only, 1));
}

void write_trace_perfetto(const std::filesystem::path& file, std::span<const TraceEvent> events) {
  AtomicFile output(file);
  write_trace_perfetto(output.stream(), events);
  output.commit();
}

}  // namespace hoccl::engine
