import { create } from "@bufbuild/protobuf";
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Client } from "@connectrpc/connect";
import { Connection } from "./connection.js";
import type { CallOptions, ConnectionOptions, RetryBudget } from "./connection.js";
import { CleaveError, clientError, invalid, isAbsence, jobError } from "./errors.js";
import { ClusterService } from "./gen/cleave/v1/cluster_pb.js";
import { DatasetService } from "./gen/cleave/v1/dataset_pb.js";
import type { Dataset } from "./gen/cleave/v1/dataset_pb.js";
import type { Event, Notice, Progress } from "./gen/cleave/v1/event_pb.js";
import { JobState, StopReason } from "./gen/cleave/v1/job_pb.js";
import type { Job as JobMessage } from "./gen/cleave/v1/job_pb.js";
import { JobService } from "./gen/cleave/v1/job_service_pb.js";
import type { TablePointsSchema } from "./gen/cleave/v1/recipe_pb.js";
import type { Result } from "./gen/cleave/v1/result_pb.js";
import { JobSpecSchema, SupervisionSchema } from "./gen/cleave/v1/spec_pb.js";
import type { SchedulingSchema } from "./gen/cleave/v1/spec_pb.js";
import { TableInputSchema, TableService } from "./gen/cleave/v1/table_pb.js";
import type { Table, TableInput } from "./gen/cleave/v1/table_pb.js";
import { columnMessage, constraintsTable, seedsTable, withArgument } from "./supervision.js";
import type { Pair, Seed, SupervisionColumn } from "./supervision.js";
import { graph, isIndex, points, pointsOfRows, shown, table } from "./upload.js";
import type { Content, Edge, TableOptions, TableSource, UploadOptions } from "./upload.js";

/** The fields of a message, all of them optional. */
export type Fields<S extends DescMessage> = Exclude<MessageInitShape<S>, MessageShape<S>>;

/** The name of an algorithm, as the command line has it. */
export type Algorithm =
  | "auto"
  | "kernel-kmeans"
  | "kmeans"
  | "seeded-kmeans"
  | "constrained-kmeans"
  | "cop-kmeans"
  | "pc-kmeans"
  | "m-kmeans"
  | "mpc-kmeans"
  | "hmrf-kmeans"
  | "spectral"
  | "spectral-learning"
  | "constrained-spectral";

/** What a job computes, and how it runs. */
export interface JobOptions extends CallOptions {
  /** The number of clusters, or a range of numbers, such as [2, 8], one of which is proposed. */
  k: number | readonly [min: number, max: number];
  /** Rows that belong together. */
  mustLink?: readonly Pair[];
  /** Rows that belong apart. */
  cannotLink?: readonly Pair[];
  /** Rows whose cluster is known. */
  seeds?: readonly Seed[];
  /** The algorithm; "auto" if unset, which chooses a method. */
  algorithm?: Algorithm;
  /** The seed of the random number generator; 0 if unset. */
  seed?: number | bigint;
  /** How the columns of a table are used, such as { idColumn: "customer", labelColumn: "segment" }. */
  table?: Omit<Fields<typeof TablePointsSchema>, "tableId">;
  /** Other fields of the JobSpec. The options above take precedence. */
  spec?: Fields<typeof JobSpecSchema>;
  /**
   * Makes the job unique: creating it again with the same ID returns the same job. The client makes one if it is unset.
   */
  requestId?: string;
  /** A display name; need not be unique. */
  displayName?: string;
  /** When and how the job runs. */
  scheduling?: Fields<typeof SchedulingSchema>;
}

/** The data of a job: what an upload returned, or the ID of something uploaded before. */
export type Data = Dataset | Table | { datasetId: string } | { tableId: string };

/** Options of a watch. */
export interface WatchOptions extends CallOptions {
  /** The last event that is known already; 0 for none. */
  afterSequence?: number;
  /** Is called with what the job is doing between events. */
  onProgress?: (progress: Progress) => void;
}

/** The clusters of rows, in row order. */
export interface Labels {
  /** The cluster of each row, from 0 to k - 1. */
  labels: Int32Array;
  /** The row of the table that each label belongs to; undefined if they are all rows in order. */
  rows: Uint32Array | undefined;
  /** The ID of the row of each label; undefined if the table has no IDs. */
  ids: string[] | undefined;
}

/** The clusters that new rows are assigned to. */
export interface Prediction extends Labels {
  /** The distance of each row to its cluster; undefined if the job has no model. */
  distances: Float64Array | undefined;
  /** How much farther each row is from the nearest other cluster; undefined if the job has no model. */
  margins: Float64Array | undefined;
  /** The probability of each row's cluster; undefined unless the model is a mixture of Gaussians. */
  confidences: Float64Array | undefined;
  /** Warnings about the table. */
  notices: Notice[];
}

// The server sends something every two seconds. After this time without anything a watch is taken for dead.
const silenceMs = 10_000;

// More pairs or seeds than this are uploaded as a table; fewer are part of the request.
const maxInlineRows = 20_000;

/** Cleave is a client of one server. It holds no resources except idle connections. */
export class Cleave {
  readonly #connection: Connection;

  /** The whole API, as it is generated. Its calls fail with a CleaveError, and all but streams are retried. */
  readonly api: {
    readonly jobs: Client<typeof JobService>;
    readonly datasets: Client<typeof DatasetService>;
    readonly tables: Client<typeof TableService>;
    readonly cluster: Client<typeof ClusterService>;
  };

  constructor(options: ConnectionOptions) {
    const connection = (this.#connection = new Connection(options));
    this.api = {
      jobs: connection.client(JobService),
      datasets: connection.client(DatasetService),
      tables: connection.client(TableService),
      cluster: connection.client(ClusterService),
    };
  }

  /** Uploads a table: a file, rows or columns. The same content uploaded again is the same table. */
  uploadTable(source: TableSource, options: TableOptions = {}): Promise<Table> {
    return this.#upload(() => table(source, options), options);
  }

  /** Uploads points: an array for each row, or all values row by row and the number of columns. */
  uploadPoints(rows: readonly ArrayLike<number>[], options?: UploadOptions): Promise<Dataset>;
  uploadPoints(values: ArrayLike<number>, columns: number, options?: UploadOptions): Promise<Dataset>;
  uploadPoints(
    values: ArrayLike<number> | readonly ArrayLike<number>[],
    columns?: number | UploadOptions,
    options?: UploadOptions,
  ): Promise<Dataset> {
    if (typeof columns === "number") return this.#upload(() => points(values as ArrayLike<number>, columns), options);
    return this.#upload(() => pointsOfRows(values as readonly ArrayLike<number>[]), columns);
  }

  /** Uploads a graph. Isolated vertices with the highest numbers need the number of vertices. */
  uploadGraph(edges: readonly Edge[], options: UploadOptions & { vertices?: number } = {}): Promise<Dataset> {
    return this.#upload(() => graph(edges, options.vertices ?? 0), options);
  }

  async #upload<T>(content: () => Content<T>, options: UploadOptions = {}): Promise<T> {
    return content().send(this.#connection, options);
  }

  /** Creates a job and returns it without waiting for its end. It is safe to repeat with the same requestId. */
  async createJob(options: JobOptions & { data: Data }): Promise<Job> {
    const { data, signal } = options;
    checkClusters(options.k);
    checkSeed(options.seed);
    if (options.table && !("tableId" in data)) {
      throw invalid(
        "OPTION_DOES_NOT_APPLY",
        "table says how the columns of a table are used, but the data is no table; leave it out",
        "spec.table",
      );
    }
    const supervision = supervisionOf(options, undefined);
    const fields: Fields<typeof JobSpecSchema> = { ...options.spec };
    fields.data =
      "tableId" in data
        ? { case: "table", value: { ...options.table, tableId: data.tableId } }
        : { case: "datasetId", value: data.datasetId };
    fields.clusters =
      typeof options.k === "number"
        ? { case: "k", value: options.k }
        : { case: "kRange", value: { min: options.k[0], max: options.k[1] } };
    if (options.seed !== undefined) fields.seed = BigInt(options.seed);
    if (options.algorithm !== undefined) fields.algorithm = algorithmOf(options.algorithm, fields.algorithm);
    const spec = create(JobSpecSchema, fields);
    for (const name of ["constraints", "seeds"] as const) {
      const rows = supervision[name];
      if (!rows) continue;
      spec.supervision ??= create(SupervisionSchema);
      spec.supervision[name] = await this.#input(rows, signal);
    }
    const request = {
      spec,
      requestId: options.requestId ?? "", // the connection makes one
      displayName: options.displayName ?? "",
      ...(options.scheduling && { scheduling: options.scheduling }),
    };
    try {
      const { job } = await this.api.jobs.createJob(request, callOf(signal));
      return new Job(this, job!);
    } catch (error) {
      throw withArgument(error, options.mustLink?.length ?? 0);
    }
  }

  /**
   * Clusters data and waits for the answer. data is points, as an array for each row, or the content of a table. It
   * uploads no data that the server would refuse, and none for pairs and seeds of rows that do not exist, except that
   * only the server knows the rows of a file.
   */
  async cluster(
    data: readonly ArrayLike<number>[] | TableSource,
    options: JobOptions & TableOptions & WatchOptions,
  ): Promise<Job> {
    const content: Content<Dataset | Table> = isPoints(data) ? pointsOfRows(data) : table(data, options);
    checkClusters(options.k);
    checkSeed(options.seed);
    supervisionOf(options, content.rows);
    const job = await this.createJob({ ...options, data: await content.send(this.#connection, options) });
    await job.wait(options);
    return job;
  }

  /** Returns a job by its ID. */
  async job(jobId: string, options: CallOptions = {}): Promise<Job> {
    const { job } = await this.api.jobs.getJob({ jobId }, callOf(options.signal));
    return new Job(this, job!);
  }

  /**
   * Yields the events of a job, each once, until the job has ended. If the connection breaks, or the server restarts,
   * it continues after the last event.
   */
  async *watch(jobId: string, options: WatchOptions = {}): AsyncGenerator<Event, void, undefined> {
    const { signal, onProgress } = options;
    let last = options.afterSequence ?? 0;
    const budget = this.#connection.retryBudget();
    for (;;) {
      const attempt = new AbortController();
      const abort = () => attempt.abort(signal!.reason);
      signal?.throwIfAborted();
      signal?.addEventListener("abort", abort, { once: true });
      let timer: ReturnType<typeof setTimeout> | undefined;
      const resetTimer = () => {
        clearTimeout(timer);
        timer = setTimeout(() => attempt.abort(silenceError()), silenceMs);
      };
      try {
        resetTimer();
        for await (const { item } of this.api.jobs.watchJob(
          { jobId, afterSequence: last },
          { signal: attempt.signal },
        )) {
          budget.reset();
          clearTimeout(timer); // the caller may take its time with an event
          if (item.case === "progress") onProgress?.(item.value);
          if (item.case === "event" && item.value.sequence > last) {
            last = item.value.sequence;
            yield item.value;
            if (item.value.what.case === "ended") return;
          }
          resetTimer();
        }
        const { job } = await this.api.jobs.getJob({ jobId, withoutSpec: true }, { signal: attempt.signal });
        if (hasEnded(job!)) return; // the caller knows the last event already
        throw clientError("NOT_REACHABLE", "the stream ended before the job");
      } catch (error) {
        await budget.pause(error, signal).catch((final: unknown) => {
          throw watchLost(jobId, final);
        });
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        attempt.abort(); // frees the connection if the caller has stopped
      }
    }
  }

  /** Returns the labels of a job that has ended. For a job with a range of k, k selects the answer. */
  async labels(jobId: string, options: CallOptions & { k?: number } = {}): Promise<Labels> {
    const parts = new LabelParts();
    await this.#resume(options.signal, async (call, budget) => {
      const request = { jobId, firstIndex: parts.count, k: options.k ?? 0, withRows: true };
      for await (const part of this.api.jobs.getLabels(request, call)) {
        budget.reset(); // the next attempt continues after this part
        parts.add(part);
      }
    });
    return parts.joined();
  }

  /** Assigns new rows, uploaded as a data set or a table, to the clusters of a job. */
  async predict(jobId: string, data: Data, options: CallOptions = {}): Promise<Prediction> {
    const request = "tableId" in data ? { jobId, tableId: data.tableId } : { jobId, datasetId: data.datasetId };
    let parts = new LabelParts();
    let distances: number[] = [];
    let margins: number[] = [];
    let confidences: number[] = [];
    let notices: Notice[] = [];
    await this.#resume(options.signal, async (call, budget) => {
      // there is no way to continue
      [parts, distances, margins, confidences, notices] = [new LabelParts(), [], [], [], []];
      for await (const part of this.api.jobs.predictJob(request, call)) {
        budget.received();
        parts.add(part);
        for (const value of part.distances) distances.push(value);
        for (const value of part.margins) margins.push(value);
        for (const value of part.confidences) confidences.push(value);
        notices.push(...part.notices);
      }
    });
    return {
      ...parts.joined(),
      distances: distances.length > 0 ? Float64Array.from(distances) : undefined,
      margins: margins.length > 0 ? Float64Array.from(margins) : undefined,
      confidences: confidences.length > 0 ? Float64Array.from(confidences) : undefined,
      notices,
    };
  }

  async #resume(
    signal: AbortSignal | undefined,
    receive: (call: { signal?: AbortSignal }, budget: RetryBudget) => Promise<void>,
  ): Promise<void> {
    const budget = this.#connection.retryBudget();
    for (;;) {
      try {
        return await receive(callOf(signal), budget);
      } catch (error) {
        await budget.pause(error, signal);
      }
    }
  }

  /** Returns a table as a part of a request: as it is or, if it is large, uploaded. */
  async #input(columns: SupervisionColumn[], signal: AbortSignal | undefined): Promise<TableInput> {
    if (columns[0]!.cells.length > maxInlineRows) {
      const { tableId } = await this.uploadTable(Object.fromEntries(columns.map((c) => [c.name, c.cells])), { signal });
      return create(TableInputSchema, { source: { case: "tableId", value: tableId } });
    }
    return create(TableInputSchema, { source: { case: "inline", value: { columns: columns.map(columnMessage) } } });
  }
}

/** Job is a job on the server. */
export class Job {
  readonly id: string;
  #state: JobMessage;

  constructor(
    private readonly cleave: Cleave,
    state: JobMessage,
  ) {
    this.id = state.jobId;
    this.#state = state;
  }

  /** The job as the server last described it; refresh asks again. */
  get state(): JobMessage {
    return this.#state;
  }

  /** Asks the server for the state of the job. */
  async refresh(options: CallOptions = {}): Promise<JobMessage> {
    const { job } = await this.cleave.api.jobs.getJob({ jobId: this.id }, callOf(options.signal));
    return (this.#state = job!);
  }

  /** Yields the events of the job; see Cleave.watch. */
  watch(options: WatchOptions = {}): AsyncGenerator<Event, void, undefined> {
    return this.cleave.watch(this.id, options);
  }

  /**
   * Waits until the job has ended, and returns it. It fails if the job failed or was canceled. A job that its time
   * limit ended is returned if it has labels.
   */
  async wait(options: WatchOptions = {}): Promise<JobMessage> {
    const job = await this.#end(options);
    if (job.state !== JobState.CANCELLED) return job;
    if (job.stopReason !== StopReason.TIME_LIMIT)
      throw clientError("JOB_CANCELLED", `job ${this.id} was canceled`, { jobId: this.id });
    if (await this.#hasLabels(options)) return job;
    throw clientError("TIME_LIMIT", `job ${this.id} was ${job.statusMessage}`, { jobId: this.id });
  }

  /** Waits until the job has ended. It fails if the job failed. */
  async #end(options: WatchOptions): Promise<JobMessage> {
    if (!hasEnded(this.#state)) {
      for await (const _ of this.watch({ ...options, afterSequence: this.#state.lastSequence })) {
        // Only the end matters.
      }
      await this.refresh(options);
      if (!hasEnded(this.#state)) {
        const state = JobState[this.#state.state] ?? this.#state.state;
        const message = `the server says that job ${this.id} ended in the state ${state}, which is no end`;
        throw clientError("BAD_ANSWER", message, { jobId: this.id });
      }
    }
    if (this.#state.state === JobState.FAILED) throw jobError(this.id, this.#state.error);
    return this.#state;
  }

  async #hasLabels(options: CallOptions): Promise<boolean> {
    try {
      const { result } = await this.cleave.api.jobs.getResult({ jobId: this.id }, callOf(options.signal));
      return result!.rows > 0;
    } catch (error) {
      if (isAbsence(error)) return false;
      throw error;
    }
  }

  /** Waits until the job has ended, and returns its labels, or those so far if it was canceled. */
  async labels(options: CallOptions & { k?: number } = {}): Promise<Labels> {
    await this.#end(callOf(options.signal));
    return this.cleave.labels(this.id, options);
  }

  /** Waits until the job has ended, and returns its result: the chosen method, the sizes of the clusters, and so on. */
  async result(options: CallOptions = {}): Promise<Result> {
    await this.#end(options);
    const { result } = await this.cleave.api.jobs.getResult({ jobId: this.id }, callOf(options.signal));
    return result!;
  }

  /** Waits until the job has ended, and assigns new rows to its clusters. */
  async predict(data: Data, options: CallOptions = {}): Promise<Prediction> {
    await this.#end(options);
    return this.cleave.predict(this.id, data, options);
  }

  /** Asks the job to stop, without waiting until it has. The labels so far, if there are any, are its result. */
  async cancel(options: CallOptions = {}): Promise<JobMessage> {
    const { job } = await this.cleave.api.jobs.cancelJob({ jobId: this.id }, callOf(options.signal));
    return (this.#state = job!);
  }

  /** Deletes the job, which must have ended, with its events and results. */
  async delete(options: CallOptions = {}): Promise<void> {
    await this.cleave.api.jobs.deleteJob({ jobId: this.id }, callOf(options.signal));
  }
}

/** LabelParts joins the parts of a stream of labels. */
class LabelParts {
  count = 0;
  readonly #labels: number[][] = [];
  readonly #rows: number[][] = [];
  readonly #ids: string[][] = [];

  add(part: { firstIndex: number; labels: number[]; rows: number[]; ids: string[] }): void {
    if (part.firstIndex !== this.count) {
      throw clientError("BAD_ANSWER", `the server sent labels from row ${part.firstIndex}, expected row ${this.count}`);
    }
    this.count += part.labels.length;
    this.#labels.push(part.labels);
    this.#rows.push(part.rows);
    this.#ids.push(part.ids);
  }

  joined(): Labels {
    const ids = this.#ids.flat();
    const rows = this.#rows.flat();
    return {
      labels: Int32Array.from(this.#labels.flat()),
      rows: rows.length > 0 ? Uint32Array.from(rows) : undefined,
      ids: ids.length > 0 ? ids : undefined,
    };
  }
}

function hasEnded({ state }: JobMessage): boolean {
  return state === JobState.SUCCEEDED || state === JobState.FAILED || state === JobState.CANCELLED;
}

function isPoints(data: readonly ArrayLike<number>[] | TableSource): data is readonly ArrayLike<number>[] {
  return Array.isArray(data) && (Array.isArray(data[0]) || ArrayBuffer.isView(data[0]));
}

function checkClusters(k: JobOptions["k"]): void {
  const range = typeof k === "number" ? [k, k] : k;
  if (
    !Array.isArray(range) ||
    range.length !== 2 ||
    !range.every((number) => isIndex(number) && number > 0) ||
    range[0]! > range[1]!
  ) {
    throw invalid(
      "BAD_K",
      `k is ${shown(k)}; it must be a whole number of at least 1, or a range such as [2, 8]`,
      "spec.k",
    );
  }
}

function checkSeed(seed: number | bigint = 0): void {
  if (!(typeof seed === "bigint" || Number.isInteger(seed)) || seed < 0 || seed >= 2 ** 64) {
    throw invalid(
      "BAD_SEED",
      `seed is ${String(seed)}; it must be a whole number of at least 0 and less than 2^64`,
      "spec.seed",
    );
  }
}

function supervisionOf(options: JobOptions, rows: number | undefined) {
  return {
    constraints: constraintsTable(options.mustLink ?? [], options.cannotLink ?? [], rows),
    seeds: seedsTable(options.seeds ?? [], rows),
  };
}

type AlgorithmField = NonNullable<Fields<typeof JobSpecSchema>["algorithm"]>;

/** Returns the algorithm of a name, with the options that a spec has for it. */
function algorithmOf(name: Algorithm, given: AlgorithmField | undefined): AlgorithmField {
  const field = name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  if (given?.case === field) return given;
  const known = JobSpecSchema.oneofs.find((oneof) => oneof.localName === "algorithm")!.fields;
  if (!known.some((f) => f.localName === field)) {
    const names = known.map((f) => f.name.replaceAll("_", "-")).join(", ");
    throw invalid(
      "UNKNOWN_ALGORITHM",
      `there is no algorithm ${JSON.stringify(name)}; use one of ${names}`,
      "spec.algorithm",
    );
  }
  return { case: field, value: {} } as AlgorithmField;
}

function callOf(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal ? { signal } : {};
}

function silenceError(): CleaveError {
  return clientError("NOT_REACHABLE", `the server sent nothing for ${silenceMs / 1000} seconds`);
}

/** Returns the error of a watch that is given up, if it was for a temporary one, or else that error. */
function watchLost(jobId: string, error: unknown): unknown {
  if (!(error instanceof CleaveError) || !error.isTemporary) return error;
  const message = `job ${jobId} cannot be watched, and may still be running: ${error.message}`;
  return clientError("WATCH_LOST", message, { jobId, retryAfterMs: error.retryAfterMs, cause: error });
}
