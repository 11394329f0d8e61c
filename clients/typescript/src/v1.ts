/** The messages and enumerations of the API, as they are generated. */
export * from "./gen/cleave/v1/cluster_pb.js";
export * from "./gen/cleave/v1/dataset_pb.js";
export * from "./gen/cleave/v1/event_pb.js";
export * from "./gen/cleave/v1/job_pb.js";
export * from "./gen/cleave/v1/job_service_pb.js";
export * from "./gen/cleave/v1/plan_pb.js";
export * from "./gen/cleave/v1/recipe_pb.js";
export * from "./gen/cleave/v1/result_pb.js";
export * from "./gen/cleave/v1/spec_pb.js";
export * from "./gen/cleave/v1/table_pb.js";
