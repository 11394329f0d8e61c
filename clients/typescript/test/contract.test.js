/** What docs/CLIENT-CONTRACT.md promises for all clients, played by a scripted server. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { once } from "node:events";
import http from "node:http";
import { test } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CancelJobResponseSchema, Cleave, CleaveError, CreateJobRequestSchema, CreateJobResponseSchema, EventSchema, GetJobResponseSchema, JobState,
  WatchJobRequestSchema, WatchJobResponseSchema,
} from "@cleave-project/cleave";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../dist/gen/google/rpc/error_details_pb.js";

const { cases } = JSON.parse(readFileSync(new URL("../../../test/clients/contract.json", import.meta.url), "utf8"));

/** @typedef {{ code: string, reason?: string, field?: string, retryAfter?: number }} Failure */
/** @typedef {{ events?: number[], ended?: boolean, error?: Failure }} Answer */
/** @typedef {{ name: string, call: string, job?: "RUNNING" | "SUCCEEDED", answers: Answer[], calls: number, after?: number[], events?: number[], error?: Required<Failure> }} Case */

/** @param {Failure | undefined} failure @returns the error of the Connect protocol, undefined for none */
function connectError(failure) {
  if (!failure) return undefined;
  const detail = (/** @type {any} */ schema, /** @type {any} */ value) =>
    ({ type: schema.typeName, value: Buffer.from(toBinary(schema, create(schema, value))).toString("base64").replace(/=+$/, "") });
  const details = [];
  if (failure.reason) details.push(detail(ErrorInfoSchema, { reason: failure.reason, domain: "cleave" }));
  if (failure.field) details.push(detail(BadRequestSchema, { fieldViolations: [{ field: failure.field }] }));
  if (failure.retryAfter) details.push(detail(RetryInfoSchema, { retryDelay: { seconds: 0n, nanos: failure.retryAfter * 1e9 } }));
  return { code: failure.code.toLowerCase(), message: "not now", details };
}

/** @param {number} flags @param {Uint8Array} content */
function envelope(flags, content) {
  const head = Buffer.alloc(5);
  head.writeUInt8(flags, 0);
  head.writeUInt32BE(content.length, 1);
  return Buffer.concat([head, content]);
}

/** Script plays a case of test/clients/contract.json, which says what the fields mean. */
class Script {
  calls = 0;
  /** @type {number[]} */ after = [];
  /** @type {string[]} */ requestIds = [];

  /** @param {Case} script */
  constructor(script) {
    this.script = script;
    this.job = { jobId: "job", state: script.job ? JobState[script.job] : JobState.UNSPECIFIED };
  }

  /** @param {http.IncomingMessage} request @param {http.ServerResponse} response */
  async serve(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    const body = Buffer.concat(parts);
    const method = String(request.url).split("/").at(-1);
    if (method === "") {
      response.setHeader("content-type", "application/json").end(JSON.stringify({ service: "cleave", api: "/v1" }));
      return;
    }
    if (method === "GetJob") {
      response.setHeader("content-type", "application/proto").end(toBinary(GetJobResponseSchema, create(GetJobResponseSchema, { job: this.job })));
      return;
    }
    const answer = this.script.answers[this.calls++] ?? { error: { code: "INTERNAL", reason: "NOT_IN_THE_SCRIPT" } };
    const error = connectError(answer.error);
    if (method === "WatchJob") {
      this.after.push(fromBinary(WatchJobRequestSchema, body.subarray(5)).afterSequence);
      response.setHeader("content-type", "application/connect+proto");
      for (const sequence of answer.events ?? []) {
        const ended = answer.ended && sequence === answer.events?.at(-1);
        const what = ended ? { case: /** @type {const} */ ("ended"), value: { state: JobState.SUCCEEDED } } : { case: undefined };
        const event = create(EventSchema, { sequence, what });
        const item = create(WatchJobResponseSchema, { item: { case: "event", value: event } });
        response.write(envelope(0, toBinary(WatchJobResponseSchema, item)));
      }
      response.end(envelope(2, Buffer.from(JSON.stringify(error ? { error } : {}))));
      return;
    }
    if (method === "CreateJob") this.requestIds.push(fromBinary(CreateJobRequestSchema, body).requestId);
    if (error) {
      response.writeHead(503, { "content-type": "application/json" }).end(JSON.stringify(error));
      return;
    }
    const schema = method === "CreateJob" ? CreateJobResponseSchema : CancelJobResponseSchema;
    response.setHeader("content-type", "application/proto").end(toBinary(schema, create(schema, { job: this.job })));
  }
}

for (const script of /** @type {Case[]} */ (cases)) {
  test(script.name, { timeout: 30_000 }, async () => {
    const played = new Script(script);
    const server = http.createServer((request, response) => void played.serve(request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = new Cleave({ baseUrl: `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (server.address()).port}` });
    /** @type {number[]} */
    const events = [];
    let failure;
    try {
      if (script.call === "CancelJob") await client.api.jobs.cancelJob({ jobId: "job" });
      else if (script.call === "CreateJob") await client.createJob({ data: { datasetId: "data" }, k: 2 });
      else for await (const event of client.watch("job")) events.push(event.sequence);
    } catch (error) {
      failure = error;
    } finally {
      server.closeAllConnections();
      server.close();
    }
    assert.equal(played.calls, script.calls);
    assert.deepEqual(played.after, script.after ?? []);
    assert.deepEqual(events, script.events ?? []);
    if (script.call === "CreateJob") assert.ok(played.requestIds[0] && new Set(played.requestIds).size === 1, `request ids ${played.requestIds}`);
    if (script.error) {
      assert.ok(failure instanceof CleaveError, String(failure));
      assert.deepEqual({ code: failure.code, reason: failure.reason, field: failure.field }, script.error);
    } else {
      assert.equal(failure, undefined);
    }
  });
}
