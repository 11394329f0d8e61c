/** Client of Cleave, which clusters data under supervision, for Node and for browsers. */
export { Cleave, Job } from "./client.js";
export type { Algorithm, Data, Fields, JobOptions, Labels, Prediction, WatchOptions } from "./client.js";
export type { CallOptions, ConnectionOptions } from "./connection.js";
export { CleaveError } from "./errors.js";
export type { ErrorCode } from "./errors.js";
export type { TLSOptions } from "./platform/node.js";
export type { Pair, Row, Seed } from "./supervision.js";
export type { Cell, Edge, TableOptions, TableSource, UploadOptions } from "./upload.js";

export * from "./gen/cleave/v1/cluster_pb.js";
export * from "./gen/cleave/v1/dataset_pb.js";
export * from "./gen/cleave/v1/event_pb.js";
export * from "./gen/cleave/v1/job_service_pb.js";
export { JobState, StopReason } from "./gen/cleave/v1/job_pb.js";
export type { Job as JobMessage } from "./gen/cleave/v1/job_pb.js";
export * from "./gen/cleave/v1/plan_pb.js";
export * from "./gen/cleave/v1/recipe_pb.js";
export * from "./gen/cleave/v1/result_pb.js";
export * from "./gen/cleave/v1/spec_pb.js";
export * from "./gen/cleave/v1/table_pb.js";
