/** What docs/CLIENT-CONTRACT.md promises for all clients, played by a scripted server. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import net from "node:net";
import { test } from "node:test";
import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import { Cleave, CleaveError, v1 } from "@cleave-project/cleave";
import { clientCodes } from "../dist/errors.js";
import { cleanups, cleave, folder } from "./processes.js";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../dist/gen/google/rpc/error_details_pb.js";

const {
  CancelJobResponseSchema,
  CreateDatasetResponseSchema,
  CreateJobRequestSchema,
  CreateJobResponseSchema,
  EventSchema,
  GetJobResponseSchema,
  GetLabelsRequestSchema,
  GetLabelsResponseSchema,
  GetResultResponseSchema,
  GetUploadResponseSchema,
  JobState,
  StopReason,
  WatchJobRequestSchema,
  WatchJobResponseSchema,
} = v1;

const { cases, reasons } = JSON.parse(
  readFileSync(new URL("../../../test/clients/contract.json", import.meta.url), "utf8"),
);

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
];

/** @typedef {{ code: string, reason?: string, field?: string, retryAfter?: number, temporary?: boolean, leader?: number }} Failure */
/**
 * @typedef {object} Answer
 * @property {number[]} [events]
 * @property {boolean} [ended]
 * @property {boolean} [silent]
 * @property {{ first: number, labels: number[] }[]} [parts]
 * @property {Failure} [error]
 */
/**
 * @typedef {object} Case
 * @property {string} name
 * @property {"CancelJob" | "CreateJob" | "GetLabels" | "UploadGraph" | "Wait" | "WatchJob"} call
 * @property {Partial<Case>[]} [servers]
 * @property {number[]} [given]
 * @property {number} [arrived]
 * @property {"NONE" | "OTHER" | "OTHER_API" | "UNTRUSTED"} [server]
 * @property {"RUNNING" | "SUCCEEDED" | "FAILED" | "CANCELLED"} [job]
 * @property {"CANCELLED" | "TIME_LIMIT"} [stopReason]
 * @property {Failure} [failure]
 * @property {{ rows?: number, error?: Failure }} [result]
 * @property {Answer[]} [answers]
 * @property {number} [calls]
 * @property {number[]} [after]
 * @property {number[]} [events]
 * @property {number[]} [first]
 * @property {number[]} [labels]
 * @property {Failure} [error]
 */

/**
 * @param {Failure | undefined} failure
 * @param {string[]} urls of the servers
 * @returns the error of the Connect protocol, undefined for none
 */
function connectError(failure, urls = []) {
  if (!failure) return undefined;
  const detail = (/** @type {any} */ schema, /** @type {any} */ value) => ({
    type: schema.typeName,
    value: Buffer.from(toBinary(schema, create(schema, value)))
      .toString("base64")
      .replace(/=+$/, ""),
  });
  const details = [];
  const metadata = failure.leader === undefined ? {} : { leader: new URL(String(urls[failure.leader])).host };
  if (failure.reason) details.push(detail(ErrorInfoSchema, { reason: failure.reason, domain: "cleave", metadata }));
  if (failure.field) details.push(detail(BadRequestSchema, { fieldViolations: [{ field: failure.field }] }));
  if (failure.retryAfter)
    details.push(detail(RetryInfoSchema, { retryDelay: { seconds: 0n, nanos: failure.retryAfter * 1e9 } }));
  return { code: failure.code.toLowerCase(), message: "not now", details };
}

/** @param {number} flags @param {Uint8Array} content */
function envelope(flags, content) {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}

/**
 * @param {http.ServerResponse} response
 * @param {Failure | undefined} failure
 * @param {() => Uint8Array} content
 * @param {string[]} [urls]
 */
function answerCall(response, failure, content, urls) {
  if (failure)
    response.writeHead(503, { "content-type": "application/json" }).end(JSON.stringify(connectError(failure, urls)));
  else response.setHeader("content-type", "application/proto").end(content());
}

/** Script plays a case of test/clients/contract.json, which says what the fields mean. */
class Script {
  calls = 0;
  /** @type {number[]} */ after = [];
  /** @type {number[]} */ first = [];
  /** @type {string[]} */ requestIds = [];

  /** @param {Case} script @param {string[]} urls of all servers of the case */
  constructor(script, urls) {
    this.script = script;
    this.urls = urls;
    const { job, stopReason, failure } = script;
    this.job = {
      jobId: "job",
      state: job ? JobState[job] : JobState.UNSPECIFIED,
      stopReason: stopReason ? StopReason[stopReason] : StopReason.UNSPECIFIED,
      statusMessage: "ended",
      ...(failure && {
        error: {
          code: codes.indexOf(failure.code),
          reason: failure.reason ?? "",
          field: failure.field ?? "",
          message: "not now",
        },
      }),
    };
  }

  /** @returns {Answer} */
  next() {
    return this.script.answers?.[this.calls++] ?? { error: { code: "INTERNAL", reason: "NOT_IN_THE_SCRIPT" } };
  }

  /** @param {http.IncomingMessage} request @param {http.ServerResponse} response */
  async serve(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    switch (String(request.url).split("/").at(-1)) {
      case "": {
        const about = { service: "cleave", api: this.script.server === "OTHER_API" ? "/v2" : "/v1", version: "9.0.0" };
        response.setHeader("content-type", "application/json").end(JSON.stringify(about));
        return;
      }
      case "GetJob":
        return answerCall(response, undefined, () =>
          toBinary(GetJobResponseSchema, create(GetJobResponseSchema, { job: this.job })),
        );
      case "GetResult": {
        const { rows = 0, error } = this.script.result ?? {};
        return answerCall(response, error, () =>
          toBinary(GetResultResponseSchema, create(GetResultResponseSchema, { result: { rows } })),
        );
      }
      case "WatchJob":
        return this.watch(body, response);
      case "GetLabels":
        return this.labels(body, response);
      case "CreateJob":
        this.requestIds.push(fromBinary(CreateJobRequestSchema, body).requestId);
        return answerCall(
          response,
          this.next().error,
          () => toBinary(CreateJobResponseSchema, create(CreateJobResponseSchema, { job: this.job })),
          this.urls,
        );
      case "GetUpload": {
        const { arrived } = this.script;
        const unknown = arrived === undefined ? { code: "NOT_FOUND", reason: "UPLOAD_NOT_FOUND" } : undefined;
        return answerCall(response, unknown, () =>
          toBinary(GetUploadResponseSchema, create(GetUploadResponseSchema, { parts: arrived ?? 0 })),
        );
      }
      case "datasets": {
        this.first.push(JSON.parse(String(body).split("\n")[0] ?? "").header.firstPart);
        const { error } = this.next();
        const stored = create(CreateDatasetResponseSchema, { dataset: { datasetId: "data" } });
        const json = error
          ? { code: codes.indexOf(error.code), message: "not now" }
          : toJson(CreateDatasetResponseSchema, stored);
        response.writeHead(error ? 503 : 200, { "content-type": "application/json" }).end(JSON.stringify(json));
        return;
      }
      default:
        if (this.script.server === "OTHER_API") response.writeHead(404).end();
        else
          answerCall(
            response,
            this.next().error,
            () => toBinary(CancelJobResponseSchema, create(CancelJobResponseSchema, { job: this.job })),
            this.urls,
          );
    }
  }

  /** @param {Buffer} body @param {http.ServerResponse} response */
  watch(body, response) {
    this.after.push(fromBinary(WatchJobRequestSchema, body.subarray(5)).afterSequence);
    const answer = this.next();
    response.setHeader("content-type", "application/connect+proto");
    for (const sequence of answer.events ?? []) {
      const ended = answer.ended && sequence === answer.events?.at(-1);
      const what = ended
        ? { case: /** @type {const} */ ("ended"), value: { state: JobState.SUCCEEDED } }
        : { case: undefined };
      const event = create(EventSchema, { sequence, what });
      const item = create(WatchJobResponseSchema, { item: { case: "event", value: event } });
      response.write(envelope(0, toBinary(WatchJobResponseSchema, item)));
    }
    if (!answer.silent) this.end(answer, response);
  }

  /** @param {Buffer} body @param {http.ServerResponse} response */
  labels(body, response) {
    this.first.push(fromBinary(GetLabelsRequestSchema, body.subarray(5)).firstIndex);
    const answer = this.next();
    response.setHeader("content-type", "application/connect+proto");
    for (const { first, labels } of answer.parts ?? []) {
      const part = create(GetLabelsResponseSchema, { firstIndex: first, labels });
      response.write(envelope(0, toBinary(GetLabelsResponseSchema, part)));
    }
    this.end(answer, response);
  }

  /** @param {Answer} answer @param {http.ServerResponse} response */
  end(answer, response) {
    const error = connectError(answer.error, this.urls);
    response.end(envelope(2, Buffer.from(JSON.stringify(error ? { error } : {}))));
  }
}

/**
 * Starts the server of a case and returns its URL.
 * @param {ReturnType<typeof cleanups>} context
 * @param {Script} played
 */
async function start(context, played) {
  const kind = played.script.server;
  /** @type {net.Server} */
  let server;
  if (kind === "OTHER") {
    server = net.createServer((socket) => {
      socket.on("error", () => {});
      socket.end("SSH-2.0-OpenSSH_9.2\r\n");
    });
  } else if (kind === "UNTRUSTED") {
    const certs = path.join(await folder(context), "certs");
    await cleave("certs", "init", "--host", "127.0.0.1", "--dir", certs);
    const [key, cert] = await Promise.all(
      ["key.pem", "cert.pem"].map((name) => readFile(path.join(certs, "coordinator", name))),
    );
    server = https.createServer({ key, cert });
  } else {
    server = http.createServer((request, response) => void played.serve(request, response));
  }
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  if (kind === "NONE") {
    server.close();
    await once(server, "close");
  } else {
    context.after(() => {
      if (server instanceof http.Server) server.closeAllConnections();
      server.close();
    });
  }
  return `${kind === "UNTRUSTED" ? "https" : "http"}://127.0.0.1:${port}`;
}

for (const script of /** @type {Case[]} */ (cases)) {
  test(script.name, { timeout: 60_000 }, async (t) => {
    /** @type {string[]} */
    const urls = [];
    const played = (script.servers ?? [{}]).map((server) => new Script({ ...script, ...server }, urls));
    const context = cleanups(t);
    for (const server of played) urls.push(await start(context, server));
    const client = new Cleave({ baseUrl: (script.given ?? [...urls.keys()]).map((at) => String(urls[at])) });
    /** @type {number[]} */
    const events = [];
    /** @type {number[]} */
    let labels = [];
    let failure;
    try {
      if (script.call === "CancelJob") await client.api.jobs.cancelJob({ jobId: "job" });
      else if (script.call === "CreateJob") await client.api.jobs.createJob({});
      else if (script.call === "GetLabels") labels = [...(await client.labels("job")).labels];
      else if (script.call === "UploadGraph")
        await client.uploadGraph([
          [0, 1],
          [1, 2],
        ]);
      else if (script.call === "Wait") await (await client.job("job")).wait();
      else for await (const event of client.watch("job")) events.push(event.sequence);
    } catch (error) {
      failure = error;
    }
    for (const { script, calls, after, first } of played) {
      assert.equal(calls, script.calls ?? 0);
      assert.deepEqual(after, script.after ?? []);
      assert.deepEqual(first, script.first ?? []);
    }
    assert.deepEqual(events, script.events ?? []);
    assert.deepEqual(labels, script.labels ?? []);
    if (script.call === "CreateJob") {
      const ids = played.flatMap((server) => server.requestIds);
      assert.ok(ids[0] && new Set(ids).size === 1, `request ids ${ids}`);
    }
    if (script.error) {
      assert.ok(failure instanceof CleaveError, String(failure));
      const { code, reason, field, isTemporary: temporary } = failure;
      assert.deepEqual({ code, reason, field, temporary }, { temporary: false, ...script.error });
    } else {
      assert.equal(failure, undefined);
    }
  });
}

test("the client finds what the contract lists", () => {
  // This client computes no IDs of content, so that it cannot find a damaged upload.
  const listed = /** @type {{ reason: string, code: string }[]} */ (reasons).filter(
    ({ reason }) => reason !== "UPLOAD_DAMAGED",
  );
  assert.deepEqual({ ...clientCodes }, Object.fromEntries(listed.map(({ reason, code }) => [reason, code])));
});

test("a job that ended in no state of an end", async (t) => {
  const script = new Script({ name: "", call: "WatchJob", job: "RUNNING", answers: [{ events: [1], ended: true }] }, []);
  const client = new Cleave({ baseUrl: await start(cleanups(t), script) });
  for (const state of [99, JobState.UNSPECIFIED]) {
    script.calls = 0;
    script.job.state = state;
    await assert.rejects((await client.job("job")).wait(), { name: "CleaveError", reason: "BAD_ANSWER", jobId: "job" });
    assert.equal(script.calls, 1, "it is watched, because it may be running");
  }
});
