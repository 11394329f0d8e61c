/** Client of Cleave, which clusters data under supervision, for Node and for browsers. */
export { Cleave, Job } from "./client.js";
export type { Algorithm, Data, Fields, JobOptions, Labels, Prediction, WatchOptions } from "./client.js";
export type { CallOptions, ConnectionOptions } from "./connection.js";
export { CleaveError } from "./errors.js";
export type { ErrorCode } from "./errors.js";
export type { TLSOptions } from "./platform/node.js";
export type { Pair, Row, Seed } from "./supervision.js";
export type { Cell, Edge, TableOptions, TableSource, UploadOptions } from "./upload.js";

/** The messages and enumerations of the API, such as v1.JobState. */
export * as v1 from "./v1.js";
