/** What the user knows about the answer, checked as the server does, with its sentences, so that nothing is sent in vain. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ColumnSchema } from "./gen/cleave/v1/table_pb.js";
import { invalid } from "./errors.js";
import { isIndex, shown } from "./upload.js";

/** A row: its number, counted from 0, or its ID if the data is a table that has IDs. */
export type Row = number | string;

/** Two rows that belong together or apart, and a weight if it is not 1. */
export type Pair = readonly [i: Row, j: Row, weight?: number];

/** A row whose cluster is known, and how probable that is if it is not certain. */
export type Seed = readonly [row: Row, label: number, probability?: number];

/** What the checks need to know about the data. Whatever is undefined is left to the server. */
export interface Shape {
  rows: number | undefined;
  hasIds: boolean;
  k: number | undefined;
}

/** A column of a table about rows. Cells that are undefined are empty. */
export interface SupervisionColumn {
  name: string;
  type: "integers" | "numbers" | "texts";
  cells: (number | string | undefined)[];
}

const constraintsField = "spec.supervision.constraints";
const seedsField = "spec.supervision.seeds";

/** Returns the table of constraints, or undefined if there are none. */
export function constraintsTable(mustLink: readonly Pair[], cannotLink: readonly Pair[], shape: Shape): SupervisionColumn[] | undefined {
  const pairs = [
    ...mustLink.map((pair, at) => ({ pair, kind: "must", argument: `mustLink[${at}]` })),
    ...cannotLink.map((pair, at) => ({ pair, kind: "cannot", argument: `cannotLink[${at}]` })),
  ];
  if (pairs.length === 0) return undefined;
  pairs.forEach(({ pair, kind, argument }, at) => {
    const refuse = (reason: string, column: string, message: string) =>
      invalid(reason, `row ${at}, column "${column}": ${message}`, constraintsField, { row: String(at), column, argument });
    if (!Array.isArray(pair) || pair.length < 2 || pair.length > 3 || !isRow(pair[0]) || !isRow(pair[1])) {
      throw invalid("BAD_PAIR", `${argument} is ${shown(pair)}; a pair is two row numbers or IDs and, if it has one, a weight`, constraintsField);
    }
    const [i, j, weight] = pair as Pair;
    for (const [column, row] of [["i", i], ["j", j]] as const) {
      if (isOutside(row, shape)) throw refuse("INDEX_OUT_OF_RANGE", column, `point ${row} is outside 0..${shape.rows! - 1}`);
    }
    if (kind === "cannot" && i === j) throw refuse("SELF_CANNOT_LINK", "j", `point ${i} has a cannot-link to itself`);
    if (weight !== undefined && !(typeof weight === "number" && weight > 0 && weight < Infinity)) {
      throw refuse("BAD_WEIGHT", "weight", `the weight is ${shown(weight)}; weights must be positive and finite`);
    }
  });
  const columns: SupervisionColumn[] = [
    rowColumn("i", pairs.map(({ pair }) => pair[0]), shape, constraintsField),
    rowColumn("j", pairs.map(({ pair }) => pair[1]), shape, constraintsField),
    { name: "kind", type: "texts", cells: pairs.map(({ kind }) => kind) },
  ];
  optionalNumbers(columns, "weight", pairs.map(({ pair }) => pair[2]));
  return columns;
}

/** Returns the table of seeds, or undefined if there are none. */
export function seedsTable(seeds: readonly Seed[], shape: Shape): SupervisionColumn[] | undefined {
  if (seeds.length === 0) return undefined;
  seeds.forEach((seed, at) => {
    const refuse = (reason: string, column: string, message: string) =>
      invalid(reason, `row ${at}, column "${column}": ${message}`, seedsField, { row: String(at), column, argument: `seeds[${at}]` });
    if (!Array.isArray(seed) || seed.length < 2 || seed.length > 3 || !isRow(seed[0])) {
      throw invalid("BAD_SEED", `seeds[${at}] is ${shown(seed)}; a seed is a row number or ID, the number of a cluster and, if it has one, a probability`, seedsField);
    }
    const [row, label] = seed as Seed;
    if (typeof label === "string") throw invalid("BAD_COLUMN_TYPE", 'column "label" holds texts; it must hold integers', seedsField, { column: "label" });
    if (isOutside(row, shape)) throw refuse("INDEX_OUT_OF_RANGE", "index", `point ${row} is outside 0..${shape.rows! - 1}`);
    if (!isIndex(label)) throw refuse("BAD_SEED_LABEL", "label", `the label is ${shown(label)}; seeds name clusters, which are numbered from 0`);
    if (shape.k !== undefined && label >= shape.k) {
      throw invalid("BAD_SEED_LABEL", `seed ${at} gives point ${row} the label ${label}; labels are 0..${shape.k - 1}`, seedsField);
    }
  });
  const columns: SupervisionColumn[] = [
    rowColumn("index", seeds.map((seed) => seed[0]), shape, seedsField),
    { name: "label", type: "integers", cells: seeds.map((seed) => seed[1]) },
  ];
  optionalNumbers(columns, "probability", seeds.map((seed) => seed[2]));
  return columns;
}

function isRow(row: unknown): row is Row {
  return typeof row === "string" || Number.isInteger(row);
}

function isOutside(row: Row, { rows }: Shape): boolean {
  return typeof row === "number" && rows !== undefined && (row < 0 || row >= rows);
}

/** Returns a column that refers to rows: by number, or by ID if all of them do. */
function rowColumn(name: string, rows: Row[], shape: Shape, field: string): SupervisionColumn {
  const texts = rows.filter((row) => typeof row === "string").length;
  if (texts === 0) return { name, type: "integers", cells: rows };
  if (!shape.hasIds) throw invalid("BAD_COLUMN_TYPE", `column "${name}" holds texts; it must hold integers`, field, { column: name });
  if (texts < rows.length) throw invalid("BAD_COLUMN_TYPE", `column "${name}" holds row numbers and IDs; use one of them for all rows`, field, { column: name });
  return { name, type: "texts", cells: rows };
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
