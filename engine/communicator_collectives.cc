// The collectives by name: each is one request.

#include <string>
#include <utility>
#include <vector>

#include "engine/communicator.h"
#include "engine/pattern/allgather.h"
#include "engine/pattern/alltoall.h"
#include "engine/pattern/rooted.h"
#include "engine/pattern/traffic_matrix.h"

namespace hoccl::engine {

std::shared_ptr<Work> Communicator::all_gather(Bytes size, bool in_place, Region send,
                                               Region receive, StreamId stream) {
  return collective(
      {.pattern = {.name = std::string(kAllGatherName), .size = size, .in_place = in_place},
       .send_buffer = send,
       .receive_buffer = receive},
      stream);
}

std::shared_ptr<Work> Communicator::all_to_all(Bytes size, bool in_place, Region send,
                                               Region receive, StreamId stream) {
  return collective(
      {.pattern = {.name = std::string(kAllToAllName), .size = size, .in_place = in_place},
       .send_buffer = send,
       .receive_buffer = receive},
      stream);
}

std::shared_ptr<Work> Communicator::all_to_all_v(std::vector<std::int64_t> row, bool in_place,
                                                 Region send, Region receive, StreamId stream) {
  return collective(
      {.pattern = {.name = std::string(kAllToAllVName), .size = Bytes(0), .in_place = in_place},
       .row = std::move(row),
       .send_buffer = send,
       .receive_buffer = receive},
      stream);
}

std::shared_ptr<Work> Communicator::all_to_all_v(std::shared_ptr<const TrafficMatrix> matrix,
                                                 bool in_place, Region send, Region receive,
                                                 StreamId stream) {
  return collective(
      {.pattern = {.name = std::string(kAllToAllVName), .size = Bytes(0), .in_place = in_place},
       .matrix = std::move(matrix),
       .send_buffer = send,
       .receive_buffer = receive},
      stream);
}

std::shared_ptr<Work> Communicator::broadcast(Bytes size, Rank root, bool in_place, Region send,
                                              Region receive, StreamId stream) {
  return collective({.pattern = {.name = std::string(kBroadcastName),
                                 .size = size,
                                 .root = root,
                                 .in_place = in_place},
                     .send_buffer = send,
                     .receive_buffer = receive},
                    stream);
}

std::shared_ptr<Work> Communicator::gather(Bytes size, Rank root, bool in_place, Region send,
                                           Region receive, StreamId stream) {
  return collective({.pattern = {.name = std::string(kGatherName),
                                 .size = size,
                                 .root = root,
                                 .in_place = in_place},
                     .send_buffer = send,
                     .receive_buffer = receive},
                    stream);
}

std::shared_ptr<Work> Communicator::scatter(Bytes size, Rank root, bool in_place, Region send,
                                            Region receive, StreamId stream) {
  return collective({.pattern = {.name = std::string(kScatterName),
                                 .size = size,
                                 .root = root,
                                 .in_place = in_place},
                     .send_buffer = send,
                     .receive_buffer = receive},
                    stream);
}

}  // namespace hoccl::engine
