#include "experiments/hoccl/verb_options.h"

#include <limits>
#include <utility>

#include "experiments/hoccl/option_reader.h"

namespace hoccl::cli {
namespace {

constexpr int kUnlimited = std::numeric_limits<int>::max();
constexpr int kMaxSlots = 4096;
constexpr int kMaxInFlight = 1024;
constexpr int kMaxJobs = 256;
constexpr int kMaxRepetitions = 1000000;

/// Options that another option excludes.
using Choices = std::vector<CLI::Option*>;

void exclude(CLI::Option* option, const Choices& choices) {
  for (CLI::Option* choice : choices) option->excludes(choice);
}

Choices add_machine_options(CLI::App& app, PatternOptions& values,
                            const std::string& default_topology) {
  OptionReader options(app);
  options.text("--topology", values.topology,
               "h800-<nodes>x<gpus>, h200-<nodes>x<gpus>, h200-1x1, gb200-nvl72 or a .toml file; "
               "default: " +
                   default_topology);
  return {options.integer(
      "--ranks", values.ranks, 1, kUnlimited,
      "use the first places, spread evenly over the nodes; default: one rank per GPU")};
}

/// Returns those that choose what is moved: a plan file excludes them.
Choices add_pattern_options(CLI::App& app, PatternOptions& values) {
  Choices choices = add_machine_options(app, values, "h800-2x8, or the one a saved schedule names");
  OptionReader options(app);
  const Choices own = {
      options.text("--pattern", values.pattern,
                   "sendrecv (one pair), sendrecv-ring, allgather, alltoall, alltoallv, broadcast, "
                   "gather, scatter, ppchain, or a file: a traffic matrix (.csv) or flows (.json)"),
      options.text("--group", values.group,
                   "ranks that take part, as 0,8,16; ranks in other options then count among them"),
      options.integer("--from", values.from, 0, kUnlimited, "sendrecv: source rank"),
      options.integer("--to", values.to, 0, kUnlimited, "sendrecv: target rank"),
      options.integer("--root", values.root, 0, kUnlimited,
                      "broadcast, gather, scatter: root rank"),
      options.flag("--in-place", values.in_place,
                   "collectives: a rank's own share lies where it belongs"),
      options.text("--self-copy", values.self_copy,
                   "how a rank's own share gets there: peer (over a peer's copy engine) or none "
                   "(as --in-place)"),
      options.text("--matrix", values.matrix,
                   "alltoallv: uniform, random, zipf, zipf-source, sparse, moe or a file (.csv)"),
      options.text("--algorithm", values.algorithm,
                   "flows to several ranks: multicast (one copy per node), ring or p2p"),
      options.integer("--nics", values.nics, 1, kUnlimited, "ring: NICs per node that it crosses"),
      options.integer("--nodes-per-stage-in", values.nodes_per_stage_in, 1,
                      1 + static_cast<int>(engine::kMaxBranches),
                      "multicast: nodes that one staged copy serves"),
      options
          .text("--forwarding", values.forwarding,
                "which NICs carry a message: symmetric (the paper's pairing, NIC of GPU x xor 1), "
                "balanced (spread over the rails) or own-nic (those next to its ends, straight "
                "between registered user buffers)")
          ->default_str("symmetric for sendrecv, sendrecv-ring and ppchain, else balanced"),
      options.integer("--rails", values.rails, 1, kUnlimited,
                      "NIC pairs that carry one message; default: symmetric 1, else all"),
      options.text("--order", values.order, "of the NICs' work: critical, bvn, rotation or local")
          ->default_str("local for alltoallv and with forwarding own-nic, else critical"),
      options.percent("--quantise", values.quantise,
                      "critical, bvn: fewer stages for a total at most so much longer"),
      options.size("--chunk", values.chunk, "unit of pipelining"),
  };
  choices.insert(choices.end(), own.begin(), own.end());
  return choices;
}

Choices add_pipeline_options(CLI::App& app, WorkOptions& values) {
  OptionReader options(app);
  engine::PipelineOptions& pipeline = values.pipeline;
  return {
      options.integer("--slots", values.slots, 1, kMaxSlots,
                      "send slots, and receive slots, of every staging place"),
      options.integer("--qps", pipeline.queue_pairs, 1, kMaxInFlight,
                      "queue pairs per pair of NICs"),
      options.integer("--nic-depth", pipeline.nic_depth, 1, kMaxInFlight,
                      "writes in flight per sending NIC"),
      options.integer("--streams", pipeline.streams, 1, kMaxInFlight,
                      "copy streams per engine class"),
      options.integer("--quantum", pipeline.quantum, 1, kMaxInFlight,
                      "copies ahead of each copy engine"),
      options.integer("--batch", pipeline.batch, 0, kMaxInFlight,
                      "copies handed over at once; 0: what is ready, 1: the paper's reading"),
      options.flag("--barrier", pipeline.barrier, "a stage begins when the one before has ended"),
      options.on_off("--overlap", pipeline.overlap,
                     "off: NIC and NVLink phases take turns, as the paper's figures suggest"),
      options.on_off("--interleave", pipeline.interleave,
                     "off: a source's flows go one after the other, not in proportion to size"),
      options.on_off("--slack-fill", pipeline.slack_fill,
                     "off: transfers inside a node wait for those between nodes"),
      options.time("--timeout", pipeline.timeout,
                   "an operation without progress for so long fails"),
  };
}

/// Returns all of them.
Choices add_work_options(CLI::App& app, WorkOptions& values) {
  Choices choices = add_pattern_options(app, values.pattern);
  OptionReader options(app);
  choices.push_back(options.size("-b,--begin", values.begin, "smallest size"));
  choices.push_back(options.size("-e,--end", values.end, "largest size"));
  choices.push_back(options.integer("-f,--factor", values.factor, 2, 1 << 20, "size step"));
  CLI::Option* plan =
      options.file("--plan", values.plan_file,
                   "run a saved schedule, which fixes what the options from --ranks to --factor "
                   "choose: none of them may be given");
  exclude(plan, choices);
  choices.push_back(plan);
  for (CLI::Option* option : add_pipeline_options(app, values)) choices.push_back(option);
  return choices;
}

void add_model_options(CLI::App& app, ModelOptions& values) {
  OptionReader options(app);
  options.text("--network", values.network, "fluid or cm02");
  options.text("--calibration", values.calibration,
               "h800, h200, gb200 or a .toml file; default: the topology's");
  options.list("--set", values.assignments, "key=value: replaces one calibration constant");
  options.integer("--jobs", values.jobs, 1, kMaxJobs, "sizes simulated at a time");
}

CLI::Option* add_seed_option(CLI::App& app, PatternOptions& values, const std::string& help) {
  return OptionReader(app).integer<std::uint64_t>("--seed", values.seed, 0,
                                                  std::numeric_limits<std::uint64_t>::max(), help);
}

/// Returns all of them.
Choices add_measure_options(CLI::App& app, MeasureOptions& values, PatternOptions& pattern) {
  OptionReader options(app);
  return {
      options.text("--copy", values.copy,
                   "what copies: host (threads with memcpy) or cuda (a GPU's copy engines)"),
      options.text("--link", values.link,
                   "verbs (RDMA), loopback (a thread plays the NIC) or loopback-map (slots change "
                   "owner)"),
      options.rate("--link-rate", values.link_rate,
                   "loopback: of each NIC; default: as fast as it is copied"),
      options.time("--link-delay", values.link_delay, "loopback: from the last byte to arrival"),
      options.text(
          "--rdma-devices", values.verbs.devices,
          "verbs: a node's NICs as mlx5_0,mlx5_1:2; nodes that differ by '/'; default: the "
          "nearest to each GPU"),
      options.integer("--gid-index", values.verbs.gid_index, 0, 255,
                      "verbs: of every NIC; default: RoCE v2, IPv4 first"),
      options.integer("--rdma-mtu", values.verbs.mtu_bytes, 256, 4096,
                      "verbs: of the path; default: the smaller one of both ports"),
      options.integer("--traffic-class", values.verbs.traffic_class, 0, 255,
                      "verbs: of every packet (DSCP and ECN)"),
      options.integer("--service-level", values.verbs.service_level, 0, 15, "verbs: InfiniBand's"),
      options.integer("--rdma-timeout", values.verbs.timeout, 1, 31,
                      "verbs: an unanswered packet is sent again after 4.096 us * 2^N"),
      options.integer("--rdma-retries", values.verbs.retries, 0, 7,
                      "verbs: ... so many times, then its chunks go another path"),
      options.text("--ranks-as", values.ranks_as,
                   "started alone, ranks are processes or threads (of one process)"),
      options.text("--gates", values.gates,
                   "cuda: a stream reaches a gate by memory-operations or host-functions"),
      options.text("--devices", values.devices,
                   "cuda: CUDA's numbers of the topology's GPUs, as 0,1; default: in order"),
      options.flag("--strict", values.strict, "cuda: refuse a copy that would run on SMs"),
      options.flag("--prove", values.prove,
                   "cuda: record one more operation with CUPTI and say what ran on SMs"),
      add_seed_option(app, pattern, "of alltoallv's matrix and of the bytes that --check sends"),
      options.integer("--warmup", values.warmup, 0, kMaxRepetitions,
                      "operations first; the very first one exports and imports buffers"),
      options.integer("--iterations", values.iterations, 1, kMaxRepetitions,
                      "operations per round; default: 20, fewer where a size would take more than "
                      "about a second"),
      options.integer("--rounds", values.rounds, 1, 1000,
                      "batches of iterations; the time is their median"),
      options.flag("--check", values.check, "verify every received byte of one more operation"),
  };
}

void add_table_files(CLI::App& app, OutputOptions& values) {
  OptionReader options(app);
  options.file("--csv", values.csv_file, "write the table as CSV");
  options.file("--json", values.json_file, "write the table as JSON");
  options.file("--trace", values.trace_file,
               "write the timeline of one size, for ui.perfetto.dev (.csv: as CSV)");
}

void add_layout_options(CLI::App& app, TrainOptions& values) {
  OptionReader options(app);
  const auto add = [&options](const std::string& name, std::optional<int>& value,
                              const std::string& help) {
    options.integer(name, value, 1, kMaxRepetitions, help + "; default: the model's");
  };
  add("--tp", values.tensor, "ranks of a tensor-parallel group");
  add("--pp", values.pipeline, "pipeline stages");
  add("--vpp", values.chunks, "model chunks per stage");
  options.integer("--dp", values.data, 1, kMaxRepetitions,
                  "ranks of a data-parallel group; default: as the ranks give");
  add("--ep", values.expert, "ranks that share the experts of a layer");
  add("--mbs", values.microbatch, "sequences of a micro-batch");
  add("--microbatches", values.microbatches, "per step and replica");
  add("--receive-ahead", values.receive_ahead,
      "interleaved: passes of a direction whose inputs are asked for ahead of time");
  options.text("--order", values.order,
               "which groups are neighbours: tp-dp-pp or tp-pp-dp; default: the model's");
  options.text("--schedule", values.schedule, "1f1b or interleaved; default: the model's");
}

}  // namespace

void add_plan_options(CLI::App& app, PlanOptions& values) {
  Choices choices = add_pattern_options(app, values.pattern);
  OptionReader options(app);
  choices.push_back(add_seed_option(app, values.pattern, "of alltoallv's matrix"));
  choices.push_back(options.size("-b,--begin", values.size, "message size"));
  choices.push_back(options.file("--json", values.json_file, "save the schedule"));
  exclude(options.file("--load", values.load_file,
                       "verify and show a saved schedule; of the others only --topology may be "
                       "given"),
          choices);
#ifdef HOCCL_WITH_SIM
  options.on_off("--predict", values.predict, "simulate it once, for the time it would take");
#endif
}

void add_sim_options(CLI::App& app, SimOptions& values) {
  OptionReader options(app);
  options.text("--system", values.system, "hoccl, nccl:<k>sm, nccl:zero or vccl");
  add_work_options(app, values.work);
  options.on_off("--pipelining", values.pipelining,
                 "off: the next chunk is posted when the previous one is complete end to end");
  options.flag("--dynamic-buffers", values.dynamic_buffers,
               "every operation has other buffers: vccl registers them, nccl:zero runs kernels");
  options.flag(
      "--unregistered-buffers", values.unregistered_buffers,
      "buffers that cannot be registered: vccl stages them by copies on SMs, nccl:zero runs "
      "kernels");
  options.flag("--prebuilt-writes", values.prebuilt_writes,
               "work requests of RDMA writes are built ahead of time");
  options.percent("--busy-driver", values.busy_driver,
                  "vccl: share of registrations that find the driver busy");
  options.on_off("--pxn", values.pxn,
                 "nccl: messages between nodes leave through the NIC of the receiver's rail");
  add_model_options(app, values.model);
  add_seed_option(app, values.work.pattern,
                  "of alltoallv's matrix and of vccl's registrations; nothing else is drawn");
  options.integer("--warmup", values.warmup, 0, kMaxRepetitions,
                  "iterations first; the very first one exports and imports buffers");
  options.integer("--iterations", values.iterations, 1, kMaxRepetitions,
                  "measured iterations (mean)");
  add_table_files(app, values.output);
  options.flag("--print-calibration", values.print_calibration,
               "show every constant with its source, and stop");
}

void add_run_options(CLI::App& app, RunOptions& values) {
  add_work_options(app, values.work);
  add_measure_options(app, values.measure, values.work.pattern);
  add_table_files(app, values.output);
}

void add_validate_options(CLI::App& app, ValidateOptions& values) {
  Choices measuring = add_work_options(app, values.work);
  for (CLI::Option* option : add_measure_options(app, values.measure, values.work.pattern)) {
    measuring.push_back(option);
  }
  OptionReader options(app);
  exclude(options.file("--measured", values.measured_file,
                       "compare with what `hoccl run --json FILE` recorded, here or elsewhere; of "
                       "the options above only --topology may be given"),
          measuring);
  add_model_options(app, values.model);
  options.file("--csv", values.csv_file, "write the table as CSV");
  options.file("--json", values.json_file, "write the table as JSON");
  options.file("--trace", values.trace_file,
               "write both timelines of one size into one file, for ui.perfetto.dev; a file of "
               "--measured must hold one: hoccl run --json FILE --trace FILE");
}

void add_train_options(CLI::App& app, TrainOptions& values) {
  OptionReader options(app);
  options.text("--model", values.setup, "gpt-6.7b, gpt-32b or a .toml file");
  options.text("--system", values.system,
               "hoccl, nccl (with the model's SMs), nccl:<k>sm, nccl:zero or vccl");
  add_machine_options(app, values.work.pattern, kTrainingTopology);
  add_layout_options(app, values);
  options.text("--contention", values.contention,
               "what SMs that are held cost compute kernels: line (the paper's Fig. 2), waves (of "
               "their tiles) or none");
  options.on_off("--communication", values.communication,
                 "off: messages keep their order and take no time; there is nothing else");
  options.on_off("--priority-switch", values.priority_switch,
                 "hoccl: copies wait while tensor parallelism is active");
  options.flag("--group-messages", values.group_messages,
               "sends and receives that belong together are one call, as vccl's always are");
  options.flag("--dynamic-buffers", values.dynamic_buffers,
               "every message has a new buffer, which vccl registers on the launching thread");
  options.percent("--busy-driver", values.busy_driver,
                  "vccl: share of registrations that find the driver busy");
  options.percent("--length-spread", values.length_spread,
                  "how much shorter samples may be: what activations leave of memory (not time)");
  options.flag("--ideal-reduce", values.ideal_reduce,
               "gradients are reduced without SMs: what if ReduceScatter were off them, too");
  options.on_off("--pipelining", values.pipelining,
                 "hoccl off: the next chunk is posted when the previous one is complete");
  options.text("--forwarding", values.work.pattern.forwarding,
               "hoccl: symmetric, balanced or own-nic; default: symmetric");
  options.integer("--rails", values.work.pattern.rails, 1, kUnlimited,
                  "hoccl: NIC pairs that carry one message");
  options.size("--chunk", values.work.pattern.chunk, "hoccl: unit of pipelining");
  add_pipeline_options(app, values.work);
  add_model_options(app, values.model);
  add_seed_option(app, values.work.pattern,
                  "of vccl's registrations and of the lengths of --length-spread");
  add_table_files(app, values.output);
  options.file("--sm-timeline", values.sm_timeline_file,
               "write the SMs that communication holds on the first GPU, as CSV");
  options.file("--slack", values.slack_file, "write the CPU slack's percentiles, as CSV");
  options.flag("--print-model", values.print_model,
               "show every value of the model's file with its source, and stop");
}

void add_doctor_options(CLI::App& app, DoctorOptions& values) {
  add_machine_options(app, values.pattern, "h800-2x8");
  OptionReader options(app);
  options.size("--chunk", values.pattern.chunk, "size of a slot");
  options.integer("--slots", values.slots, 1, kMaxSlots,
                  "send slots, and receive slots, of every staging place");
}

void add_calibrate_options(CLI::App& app, CalibrateOptions& values) {
  OptionReader options(app);
  const Choices of_gpus = {
      options.integer("--device", values.device, 0, kUnlimited,
                      "the GPU to measure, as CUDA counts them"),
      options.file("--out", values.out_file, "the calibration to write (.toml)"),
      options.text("--base", values.base,
                   "where constants that one GPU does not show come from: h800, h200, gb200 or a "
                   ".toml file; default: h200"),
      options.text("--topology", values.topology,
                   "whose rates the measured efficiencies are shares of; default: h200-1x1"),
      options.file("--samples", values.samples_file,
                   "fit what an earlier run has written with --csv, here or elsewhere"),
      options.flag("--gates-only", values.gates_only,
                   "print samples of the gates at the present CUDA_DEVICE_MAX_CONNECTIONS, and "
                   "stop"),
  };
  options.file("--csv", values.csv_file, "write every sample as CSV");
  CLI::Option* registration =
      options.text("--registration", values.registration,
                   "no GPU: time how long it takes to register memory with this RDMA device");
  exclude(registration, of_gpus);
  for (CLI::Option* option :
       {options.size("-b,--begin", values.begin, "smallest registration; each is twice the last"),
        options.size("-e,--end", values.end, "largest registration"),
        options.integer("--rounds", values.rounds, 1, 1000, "registrations of each size")}) {
    option->needs(registration);
  }
}

}  // namespace hoccl::cli
