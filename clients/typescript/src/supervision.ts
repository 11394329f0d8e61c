/**
 * What the user knows about the answer, as tables. The client checks what the API cannot express, and that rows exist,
 * so that no data is uploaded in vain. The server checks the rest.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ColumnSchema } from "./gen/cleave/v1/table_pb.js";
import { CleaveError, invalid } from "./errors.js";
import { shown } from "./upload.js";

/** A row: its number, counted from 0, or its ID if the data is a table that has IDs. */
export type Row = number | string;

/** Two rows that belong together or apart, and a weight if it is not 1. */
export type Pair = readonly [i: Row, j: Row, weight?: number];

/** A row whose cluster is known, and how probable that is if it is not certain. */
export type Seed = readonly [row: Row, label: number, probability?: number];

/** A column of a table about rows. Cells that are undefined are empty. */
export interface SupervisionColumn {
  name: string;
  type: "integers" | "numbers" | "texts";
  cells: (number | string | undefined)[];
}

const constraintsField = "spec.supervision.constraints";
const seedsField = "spec.supervision.seeds";

/** Returns the table of constraints, or undefined if there are none. rows is undefined if only the server knows it. */
export function constraintsTable(
  mustLink: readonly Pair[],
  cannotLink: readonly Pair[],
  rows: number | undefined,
): SupervisionColumn[] | undefined {
  const pairs = [...mustLink, ...cannotLink];
  if (pairs.length === 0) return undefined;
  pairs.forEach((pair, at) => {
    const argument = pairAt(at, mustLink.length);
    if (
      !Array.isArray(pair) ||
      pair.length < 2 ||
      pair.length > 3 ||
      !isRow(pair[0]) ||
      !isRow(pair[1]) ||
      !isOptionalNumber(pair[2])
    ) {
      throw invalid(
        "BAD_PAIR",
        `${argument} is ${shown(pair)}; a pair is two row numbers or IDs and, if it has one, a weight`,
        constraintsField,
      );
    }
    checkRow(pair[0], rows, argument, constraintsField);
    checkRow(pair[1], rows, argument, constraintsField);
  });
  const columns: SupervisionColumn[] = [
    rowColumn(
      "i",
      pairs.map((pair) => pair[0]),
      constraintsField,
    ),
    rowColumn(
      "j",
      pairs.map((pair) => pair[1]),
      constraintsField,
    ),
    { name: "kind", type: "texts", cells: pairs.map((_, at) => (at < mustLink.length ? "must" : "cannot")) },
  ];
  optionalNumbers(
    columns,
    "weight",
    pairs.map((pair) => pair[2]),
  );
  return columns;
}

/** Returns the table of seeds, or undefined if there are none. */
export function seedsTable(seeds: readonly Seed[], rows: number | undefined): SupervisionColumn[] | undefined {
  if (seeds.length === 0) return undefined;
  seeds.forEach((seed, at) => {
    if (
      !Array.isArray(seed) ||
      seed.length < 2 ||
      seed.length > 3 ||
      !isRow(seed[0]) ||
      !Number.isSafeInteger(seed[1]) ||
      !isOptionalNumber(seed[2])
    ) {
      throw invalid(
        "BAD_SEED",
        `seeds[${at}] is ${shown(seed)}; ` +
          "a seed is a row number or ID, the number of a cluster and, if it has one, a probability",
        seedsField,
      );
    }
    checkRow(seed[0], rows, `seeds[${at}]`, seedsField);
  });
  const columns: SupervisionColumn[] = [
    rowColumn(
      "index",
      seeds.map((seed) => seed[0]),
      seedsField,
    ),
    { name: "label", type: "integers", cells: seeds.map((seed) => seed[1]) },
  ];
  optionalNumbers(
    columns,
    "probability",
    seeds.map((seed) => seed[2]),
  );
  return columns;
}

/** Returns an error of the server about a row of these tables with the argument that the row comes from. */
export function withArgument(error: unknown, mustLinks: number): unknown {
  if (!(error instanceof CleaveError) || error.metadata["row"] === undefined) return error;
  const row = Number(error.metadata["row"]);
  const argument =
    error.field === constraintsField
      ? pairAt(row, mustLinks)
      : error.field === seedsField
        ? `seeds[${row}]`
        : undefined;
  return argument ? new CleaveError(error.code, `${error.message} (${argument})`, { ...error, cause: error }) : error;
}

function pairAt(row: number, mustLinks: number): string {
  return row < mustLinks ? `mustLink[${row}]` : `cannotLink[${row - mustLinks}]`;
}

function isRow(row: unknown): row is Row {
  return typeof row === "string" || Number.isSafeInteger(row);
}

function isOptionalNumber(value: unknown): boolean {
  return value === undefined || typeof value === "number";
}

function checkRow(row: Row, rows: number | undefined, argument: string, field: string): void {
  if (typeof row === "number" && rows !== undefined && (row < 0 || row >= rows)) {
    throw invalid("INDEX_OUT_OF_RANGE", `${argument} names row ${row}; rows are numbered 0 to ${rows - 1}`, field);
  }
}

/** Returns a column that refers to rows: by number, or by ID if all of them do. */
function rowColumn(name: string, rows: Row[], field: string): SupervisionColumn {
  const texts = rows.filter((row) => typeof row === "string").length;
  if (texts > 0 && texts < rows.length) {
    throw invalid(
      "BAD_COLUMN_TYPE",
      `column "${name}" holds row numbers and IDs; use one of them for all rows`,
      field,
      { column: name },
    );
  }
  return { name, type: texts > 0 ? "texts" : "integers", cells: rows };
}

/** Adds a column of numbers, some of which may be missing, unless all are. */
function optionalNumbers(columns: SupervisionColumn[], name: string, cells: (number | undefined)[]): void {
  if (cells.some((cell) => cell !== undefined)) columns.push({ name, type: "numbers", cells });
}

/** Returns the message of a column. */
export function columnMessage({ name, type, cells }: SupervisionColumn): MessageInitShape<typeof ColumnSchema> {
  const emptyRows = cells.flatMap((cell, row) => (cell === undefined ? [row] : []));
  switch (type) {
    case "integers":
      return { name, emptyRows, cells: { case: type, value: { values: cells.map((cell) => BigInt(cell ?? 0)) } } };
    case "numbers":
      return { name, emptyRows, cells: { case: type, value: { values: cells.map((cell) => Number(cell ?? 0)) } } };
    case "texts":
      return { name, emptyRows, cells: { case: type, value: { values: cells.map((cell) => String(cell ?? "")) } } };
  }
}
