import { Code, ConnectError } from "@connectrpc/connect";
import type { JsonValue } from "@bufbuild/protobuf";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";
import type { Error as JobFailure } from "./gen/cleave/v1/job_pb.js";

/** The names of the canonical codes of gRPC, by number. */
const codes = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

/** The canonical code of an error. */
export type ErrorCode = (typeof codes)[number];

/** What a CleaveError tells besides its message. */
export interface ErrorDetails {
  reason?: string;
  field?: string;
  metadata?: Record<string, string>;
  retryAfterMs?: number | undefined;
  jobId?: string;
  cause?: unknown;
}

/**
 * CleaveError is every error that Cleave reports, and every input that the client refuses before it sends anything.
 * Only an aborted call fails with something else: the reason of its signal.
 */
export class CleaveError extends Error {
  override readonly name = "CleaveError";
  /** The canonical code, such as "INVALID_ARGUMENT". */
  readonly code: ErrorCode;
  /** A stable identifier in UPPER_SNAKE_CASE, or "" if the error has none. */
  readonly reason: string;
  /** The field of the request that is wrong, such as "spec.k", or "". */
  readonly field: string;
  /** Further details. The keys depend on the reason. */
  readonly metadata: Readonly<Record<string, string>>;
  /** How long to wait before a retry, if the server says that one may succeed. */
  readonly retryAfterMs: number | undefined;
  /** The job that the error is about, or "". */
  readonly jobId: string;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.code = code;
    this.reason = details.reason ?? "";
    this.field = details.field ?? "";
    this.metadata = details.metadata ?? {};
    this.retryAfterMs = details.retryAfterMs;
    this.jobId = details.jobId ?? "";
  }

  /** Reports whether the same call may succeed later. */
  get isTemporary(): boolean {
    return this.code === "UNAVAILABLE" || this.retryAfterMs !== undefined;
  }
}

/** The codes of the errors that a client finds itself, by reason. docs/CLIENT-CONTRACT.md says what they mean. */
export const clientCodes = {
  NOT_REACHABLE: "UNAVAILABLE",
  HANDSHAKE_FAILED: "FAILED_PRECONDITION",
  NOT_CLEAVE: "FAILED_PRECONDITION",
  OTHER_API_VERSION: "FAILED_PRECONDITION",
  WATCH_LOST: "UNAVAILABLE",
  JOB_FAILED: "INTERNAL",
  JOB_CANCELLED: "CANCELLED",
  TIME_LIMIT: "DEADLINE_EXCEEDED",
  BAD_ANSWER: "INTERNAL",
} as const satisfies Record<string, ErrorCode>;

/** Reports whether an error is one that the client found itself. */
export function isOfClient(error: CleaveError): boolean {
  return error.reason in clientCodes;
}

/** Returns the error of something that the client finds itself. */
export function clientError(
  reason: keyof typeof clientCodes,
  message: string,
  details: Omit<ErrorDetails, "reason"> = {},
): CleaveError {
  return new CleaveError(clientCodes[reason], message, { ...details, reason });
}

/** Reports whether an error is the server's answer that there is no such thing, or not in this state. */
export function isAbsence(error: unknown): boolean {
  return (
    error instanceof CleaveError &&
    (error.code === "NOT_FOUND" || error.code === "FAILED_PRECONDITION") &&
    !isOfClient(error)
  );
}

/** Returns the error of input that the client refuses. */
export function invalid(
  reason: string,
  message: string,
  field = "",
  metadata: Record<string, string> = {},
): CleaveError {
  return new CleaveError("INVALID_ARGUMENT", message, { reason, field, metadata });
}

/** Returns the error of a failed job. It is final: the same requestId returns the same failure. */
export function jobError(jobId: string, failure: JobFailure | undefined): CleaveError {
  if (!failure) return clientError("JOB_FAILED", `job ${jobId} failed`, { jobId });
  const code = codes[failure.code] ?? "INTERNAL";
  return new CleaveError(code === "UNAVAILABLE" ? "INTERNAL" : code, failure.message, {
    reason: failure.reason,
    field: failure.field,
    metadata: failure.metadata,
    jobId,
  });
}

/** Returns the error of a call that failed in the Connect protocol. */
export function fromConnect(error: ConnectError): CleaveError {
  const info = error.findDetails(ErrorInfoSchema).find((i) => i.domain === "cleave");
  const delay = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  return new CleaveError(codes[error.code] ?? "UNKNOWN", error.rawMessage, {
    reason: info?.reason ?? "",
    field: error.findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field ?? "",
    metadata: info?.metadata ?? {},
    ...(delay && { retryAfterMs: Number(delay.seconds) * 1000 + delay.nanos / 1e6 }),
    cause: error,
  });
}

/**
 * Returns the error in the body of a REST response, a google.rpc.Status, or undefined if the body is something else.
 */
export function fromStatus(body: unknown): CleaveError | undefined {
  const status = body as { code?: unknown; message?: unknown; details?: unknown } | null;
  if (typeof status?.code !== "number" || typeof status.message !== "string") return undefined;
  const details = (Array.isArray(status.details) ? status.details : []) as Record<string, JsonValue>[];
  const find = (name: string) => details.find((d) => String(d["@type"]).endsWith("/google.rpc." + name));
  const info = find("ErrorInfo") as { reason?: string; metadata?: Record<string, string> } | undefined;
  const request = find("BadRequest") as { fieldViolations?: { field?: string }[] } | undefined;
  const retry = find("RetryInfo") as { retryDelay?: string } | undefined;
  return new CleaveError(codes[status.code] ?? "UNKNOWN", status.message, {
    reason: info?.reason ?? "",
    field: request?.fieldViolations?.[0]?.field ?? "",
    metadata: info?.metadata ?? {},
    ...(retry && { retryAfterMs: Number.parseFloat(retry.retryDelay ?? "0") * 1000 }),
  });
}

/** Reports whether a call failed before a server of Cleave answered it. */
export function isUnanswered(error: CleaveError): boolean {
  return error.reason === "" && !(error.cause instanceof ConnectError && error.cause.code === Code.Canceled);
}
