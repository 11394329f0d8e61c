import { fromJson } from "@bufbuild/protobuf";
import type { JsonValue } from "@bufbuild/protobuf";
import { streamsRequests } from "#platform";
import type { Connection } from "./connection.js";
import { CleaveError, invalid } from "./errors.js";
import { DatasetService, CreateDatasetResponseSchema } from "./gen/cleave/v1/dataset_pb.js";
import type { Dataset } from "./gen/cleave/v1/dataset_pb.js";
import { CreateTableResponseSchema } from "./gen/cleave/v1/table_pb.js";
import type { Table } from "./gen/cleave/v1/table_pb.js";

/** A cell of a table. null and undefined are empty; dates become texts such as 2026-05-31T00:00:00.000Z. */
export type Cell = number | string | boolean | Date | null | undefined;

/**
 * The content of a table: a file as a text, a Blob or a stream of bytes; rows, as objects with a property for each
 * column; or columns, as an object with an array of cells for each.
 */
export type TableSource =
  | string
  | Blob
  | ReadableStream<Uint8Array>
  | readonly Readonly<Record<string, Cell>>[]
  | Readonly<Record<string, ArrayLike<Cell>>>;

/** Options of an upload. */
export interface UploadOptions {
  /** A display name; need not be unique. */
  displayName?: string;
  /** Ends the upload, which then fails with the reason of the signal. */
  signal?: AbortSignal | undefined;
}

/** Options of the upload of a table. */
export interface TableOptions extends UploadOptions {
  /** The format of a file: "csv" if unset, "tsv", "parquet", "arrow" and others that `cleave run` reads. */
  format?: string;
  /** The delimiter of a text, if it is not to be guessed. */
  delimiter?: string;
  /** The decimal mark of a text, "." or ",", if it is not to be guessed. */
  decimals?: string;
  /** Whether the first line of a text has the names of the columns, if that is not to be guessed. */
  header?: boolean;
}

/** An edge of a graph: two vertices, counted from 0, and a weight, which is 1 if left out. */
export type Edge = readonly [source: number, target: number, weight?: number];

/** Content is something to upload, checked already. rows is undefined if only the server can tell. */
export interface Content<T> {
  readonly rows: number | undefined;
  send(connection: Connection, options: UploadOptions): Promise<T>;
}

// A part has about a mebibyte of JSON, well below the limit of a message.
const partBytes = 1 << 20;
const edgesPerPart = 1 << 15;

/** Returns points, of which values has one row after another. */
export function points(values: ArrayLike<number>, columns: number): Content<Dataset> {
  if (!Number.isInteger(columns) || columns < 1)
    throw invalid("EMPTY_DATA", `the data set has ${columns} columns; at least one is needed`, "header.points");
  if (values.length === 0)
    throw invalid("EMPTY_DATA", "the upload ended without a row; at least one is needed", "values");
  const rows = Math.floor(values.length / columns);
  const rest = values.length - rows * columns;
  if (rest > 0)
    throw invalid(
      "TOO_FEW_VALUES",
      `the upload ended after ${rest} values of row ${rows}, which has ${columns} columns`,
      "values",
    );
  for (let at = 0; at < values.length; at++) checkFinite(values[at], Math.floor(at / columns), at % columns);
  return {
    rows,
    async send(connection, { signal, displayName }) {
      const owned = values instanceof Float64Array && values.buffer instanceof ArrayBuffer; // and not shared
      const body = new Blob([
        npyHeader(rows, columns),
        owned ? (values as Float64Array<ArrayBuffer>) : Float64Array.from(values),
      ]);
      const query = new URLSearchParams({ format: "npy", ...(displayName && { display_name: displayName }) });
      const response = await connection.retry(
        () => connection.post(`/v1/datasets?${query}`, "application/octet-stream", body, signal),
        { signal },
      );
      return datasetOf(response);
    },
  };
}

function checkFinite(value: unknown, row: number, column: number): void {
  if (!isFiniteNumber(value))
    throw invalid("NOT_FINITE", `row ${row}, column ${column} is ${shown(value)}; every value must be a finite number`);
}

/**
 * Returns the header of a NumPy file of float64 in row-major order. All machines that run JavaScript are little-endian.
 */
function npyHeader(rows: number, columns: number): Uint8Array<ArrayBuffer> {
  const text = `{'descr': '<f8', 'fortran_order': False, 'shape': (${rows}, ${columns}), }`;
  const padded = text.padEnd(Math.ceil((10 + text.length + 1) / 64) * 64 - 11) + "\n";
  return new Uint8Array([
    0x93,
    ...new TextEncoder().encode("NUMPY"),
    1,
    0,
    padded.length & 255,
    padded.length >> 8,
    ...new TextEncoder().encode(padded),
  ]);
}

/** Returns points, from an array for each row. */
export function pointsOfRows(rows: readonly ArrayLike<number>[]): Content<Dataset> {
  const columns = rows[0]?.length ?? 0;
  const ragged = rows.findIndex((row) => row.length !== columns);
  if (ragged >= 0)
    throw invalid(
      "BAD_SHAPE",
      `row ${ragged} has ${rows[ragged]!.length} values, and row 0 has ${columns}; every row must have as many`,
      "values",
    );
  if (rows.length > 0 && columns === 0)
    throw invalid("EMPTY_DATA", "the data set has 0 columns; at least one is needed", "header.points");
  const values = new Float64Array(rows.length * columns);
  rows.forEach((row, at) => {
    // set converts texts and null
    for (let column = 0; column < columns; column++) checkFinite(row[column], at, column);
    values.set(row, at * columns);
  });
  return points(values, Math.max(1, columns));
}

/** Returns a graph. vertices is 0 if it is the largest number among the edges plus one. */
export function graph(edges: readonly Edge[], vertices: number): Content<Dataset> {
  let most = 0;
  edges.forEach(([source, target, weight = 1], at) => {
    for (const vertex of [source, target]) {
      if (!isIndex(vertex))
        throw invalid(
          "INDEX_OUT_OF_RANGE",
          `edge ${at} (${source}-${target}) names vertex ${vertex}; vertices are numbered from 0`,
          "edges",
        );
      if (vertices > 0 && vertex >= vertices)
        throw invalid(
          "INDEX_OUT_OF_RANGE",
          `edge ${at} (${source}-${target}) names vertex ${vertex}; the graph has ${vertices} vertices`,
          "edges",
        );
      most = Math.max(most, vertex + 1);
    }
    if (!isFiniteNumber(weight))
      throw invalid(
        "NOT_FINITE",
        `edge ${at} (${source}-${target}) has weight ${shown(weight)}; weights must be finite numbers`,
      );
  });
  if (edges.length === 0) throw invalid("EMPTY_DATA", "the graph has no edges; at least one is needed", "edges");
  function* parts(first: number): Generator<string> {
    for (let begin = first * edgesPerPart; begin < edges.length; begin += edgesPerPart) {
      const part = edges.slice(begin, begin + edgesPerPart);
      yield (
        JSON.stringify({
          edges: {
            sources: part.map((e) => e[0]),
            targets: part.map((e) => e[1]),
            weights: part.map((e) => e[2] ?? 1),
          },
        }) + "\n"
      );
    }
  }
  return {
    rows: vertices || most,
    send: async (connection, options) =>
      datasetOf(await sendParts(connection, "/v1/datasets", { graph: { vertices } }, parts, options)),
  };
}

function datasetOf(response: unknown): Dataset {
  return fromJson(CreateDatasetResponseSchema, response as JsonValue, { ignoreUnknownFields: true }).dataset!;
}

function tableOf(response: unknown): Table {
  return fromJson(CreateTableResponseSchema, response as JsonValue, { ignoreUnknownFields: true }).table!;
}

/** Returns a table. */
export function table(source: TableSource, options: TableOptions): Content<Table> {
  if (typeof source === "string" || source instanceof Blob || source instanceof ReadableStream)
    return file(source, options);
  const columns = Array.isArray(source)
    ? columnsOf(source as readonly Record<string, Cell>[])
    : Object.entries(source as Record<string, ArrayLike<Cell>>);
  const rows = columns[0]?.[1].length ?? 0;
  if (columns.length === 0 || rows === 0)
    throw invalid("EMPTY_DATA", "the table has no rows; at least one is needed", "rows");
  for (const [name, cells] of columns) {
    if (cells.length !== rows) {
      throw invalid(
        "COLUMN_LENGTHS_DIFFER",
        `the columns have different numbers of rows: ${JSON.stringify(columns[0]![0])} has ${rows} ` +
          `and ${JSON.stringify(name)} has ${cells.length}`,
        "rows",
      );
    }
  }
  const typed = columns.map(([name, cells]) => ({ name, cells, type: typeOf(name, cells) }));
  function* parts(first: number): Generator<string> {
    for (let begin = 0, part = 0; begin < rows; part++) {
      let end = begin;
      for (let size = 0; end < rows && size < partBytes; end++)
        for (const { cells } of typed) size += sizeOf(cells[end]);
      if (part >= first)
        yield JSON.stringify({ rows: { columns: typed.map((column) => messageOf(column, begin, end)) } }) + "\n";
      begin = end;
    }
  }
  return {
    rows,
    send: async (connection, given) => tableOf(await sendParts(connection, "/v1/tables", {}, parts, given)),
  };
}

function file(source: string | Blob | ReadableStream<Uint8Array>, options: TableOptions): Content<Table> {
  return {
    rows: undefined,
    async send(connection, { signal, displayName }) {
      const query = new URLSearchParams({ format: options.format ?? "csv" });
      if (displayName) query.set("display_name", displayName);
      if (options.delimiter) query.set("delimiter", options.delimiter);
      if (options.decimals) query.set("decimals", options.decimals);
      if (options.header !== undefined) query.set("header", options.header ? "yes" : "no");
      const isStream = source instanceof ReadableStream;
      const body = isStream && !streamsRequests ? await new Response(source).blob() : source;
      const once = () => connection.post(`/v1/tables?${query}`, "application/octet-stream", body, signal);
      // a stream can be read once
      const response = await (isStream && streamsRequests ? once() : connection.retry(once, { signal }));
      return tableOf(response);
    },
  };
}

/** Sends the messages of an upload. If it breaks, it continues after the parts that have arrived. */
async function sendParts(
  connection: Connection,
  path: string,
  form: object,
  parts: (first: number) => Iterable<string>,
  options: UploadOptions,
): Promise<unknown> {
  const { signal, displayName = "" } = options;
  const uploadId = crypto.randomUUID();
  const service = connection.client(DatasetService);
  const arrived = async () => {
    try {
      return (await service.getUpload({ uploadId }, { ...(signal && { signal }) })).parts;
    } catch (error) {
      if (error instanceof CleaveError && error.code === "NOT_FOUND") return 0;
      throw error;
    }
  };
  let first = 0;
  const once = () => {
    function* messages(): Generator<string> {
      yield JSON.stringify({ header: { displayName, uploadId, firstPart: first, ...form } }) + "\n";
      yield* parts(first);
    }
    return connection.post(path, "application/x-ndjson", bodyOf(messages()), signal);
  };
  const budget = connection.retryBudget();
  for (;;) {
    try {
      return await once();
    } catch (error) {
      await budget.pause(error, signal);
      const before = first;
      first = await arrived();
      if (first > before) budget.reset();
    }
  }
}

/** Returns a body that is made as it is sent or, in a browser, at once. */
function bodyOf(messages: Iterator<string>): BodyInit {
  if (!streamsRequests) return new Blob([...{ [Symbol.iterator]: () => messages }]);
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull(controller) {
      const { done, value } = messages.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
  });
}

function columnsOf(rows: readonly Record<string, Cell>[]): [string, ArrayLike<Cell>][] {
  const names = new Set<string>();
  rows.forEach((row, at) => {
    if (typeof row !== "object" || row === null || Array.isArray(row)) {
      throw invalid(
        "BAD_SHAPE",
        `row ${at} is ${shown(row)}; a row of a table is an object with a property for each column`,
        "rows",
      );
    }
    for (const name of Object.keys(row)) names.add(name);
  });
  return [...names].map((name) => [name, rows.map((row) => row[name])]);
}

type ColumnType = "integers" | "numbers" | "texts";

/** Returns the type of a column, as it would be if the cells came from a file. */
function typeOf(name: string, cells: ArrayLike<Cell>): ColumnType {
  let type: ColumnType = "integers";
  for (let row = 0; row < cells.length; row++) {
    const cell = cells[row];
    if (isEmpty(cell)) continue;
    if (cell instanceof Date && Number.isNaN(cell.getTime())) {
      throw invalid(
        "BAD_VALUE",
        `row ${row}, column ${JSON.stringify(name)} is an invalid date; use null for an empty cell`,
        "rows",
        { row: String(row), column: name },
      );
    }
    if (typeof cell !== "number") type = "texts";
    else if (!Number.isFinite(cell))
      throw invalid(
        "NOT_FINITE",
        `row ${row}, column ${JSON.stringify(name)}: ${shown(cell)} is not a finite number`,
        "rows",
        { row: String(row), column: name },
      );
    else if (type === "integers" && !Number.isSafeInteger(cell)) type = "numbers";
  }
  return type;
}

function messageOf(
  column: { name: string; cells: ArrayLike<Cell>; type: ColumnType },
  begin: number,
  end: number,
): object {
  const cells: Cell[] = Array.prototype.slice.call(column.cells, begin, end);
  const emptyRows: number[] = [];
  const values = cells.map((cell, row) => {
    if (isEmpty(cell)) {
      emptyRows.push(row);
      return column.type === "texts" ? "" : 0;
    }
    if (column.type !== "texts") return cell as number;
    return cell instanceof Date ? cell.toISOString() : String(cell);
  });
  return { name: column.name, [column.type]: { values }, emptyRows };
}

/** Returns about how many bytes of JSON a cell takes. */
function sizeOf(cell: Cell): number {
  return typeof cell === "string" ? cell.length + 3 : 16;
}

function isEmpty(cell: Cell): cell is null | undefined | "" {
  return cell === null || cell === undefined || cell === "";
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/** Reports whether a value can be the number of a row or a vertex. */
export function isIndex(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 32;
}

/** Returns a value as the server writes it. */
export function shown(value: unknown): string {
  if (value === Infinity) return "+Inf";
  if (value === -Infinity) return "-Inf";
  return typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value)).slice(0, 80);
}
