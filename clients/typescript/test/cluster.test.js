/** Against a coordinator and three workers, with certificates and a token, through a proxy that cuts connections. */
import assert from "node:assert/strict";
import { openAsBlob } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import { Cleave, CleaveError, v1 } from "@cleave-project/cleave";
import { cleanups, cleave, cuttingProxy, labelsOf, readPairs, secureCluster } from "./processes.js";

test("a cluster of three workers with certificates", { timeout: 400_000 }, async (t) => {
  const context = cleanups(t);
  const cluster = await secureCluster(context);
  const proxy = await cuttingProxy(context, cluster.address);
  const client = new Cleave({ baseUrl: `https://${proxy.address}`, token: cluster.token, tls: { ca: cluster.ca } });

  const moons = path.join(cluster.dir, "moons");
  const data = path.join(moons, "data.csv");
  await cleave(
    "generate",
    "two-moons",
    "--n",
    "400",
    "--noise",
    "0.1",
    "--background",
    "40",
    "--constraints",
    "80",
    "--seed",
    "2",
    "--out",
    moons,
  );
  const pairs = await readPairs(path.join(moons, "constraints.csv"));

  await t.test("a watch goes on where it was cut, and the labels are those of the command line", async () => {
    const table = await client.uploadTable(await openAsBlob(data), { displayName: "moons" });
    assert.equal(table.rows, 440);
    const job = await client.createJob({ data: table, k: 2, ...pairs });

    // There are no workers yet: the first cut is before any event.
    const waiting = new AbortController();
    const connectionsBefore = proxy.connections();
    let cuts = 0;
    /** @type {number[]} */
    const seen = [];
    /** @type {Promise<void> | undefined} */
    let workers;
    for await (const event of job.watch({
      signal: waiting.signal,
      onProgress() {
        if (cuts === 0) {
          cuts++;
          proxy.cut();
        } else {
          workers ??= cluster.startWorkers(3);
        }
      },
    })) {
      seen.push(event.sequence);
      if (seen.length === 2 || seen.length === 5) {
        cuts++;
        proxy.cut();
      }
    }
    await workers;
    assert.equal(cuts, 3);
    assert.ok(proxy.connections() >= connectionsBefore + 2, "the cuts broke no connection");
    assert.deepEqual(
      seen,
      seen.map((_, at) => at + 1),
      "events are missing or repeated",
    );
    assert.equal((await job.wait()).state, v1.JobState.SUCCEEDED);
    assert.equal(job.state.lastSequence, seen.length);

    const out = path.join(cluster.dir, "out");
    await cleave("run", "--data", data, "--k", "2", "--constraints", path.join(moons, "constraints.csv"), "--out", out);
    const { labels, ids, rows } = await job.labels();
    assert.deepEqual(labels, await labelsOf(out));
    assert.equal(ids, undefined);
    assert.equal(rows, undefined);
  });

  await t.test("three workers attach", async () => {
    /** @type {string[]} */
    let names = [];
    while (names.length < 3) names = (await client.api.cluster.listWorkers({})).workers.map((w) => w.name);
    assert.deepEqual(names.sort(), ["w0", "w1", "w2"]);
  });

  await t.test("a file, its rows and its columns are the same table", async () => {
    const file = fileOf("docs/examples/customers.csv");
    const uploaded = await client.uploadTable(await readFile(file, "utf8"));
    const streamed = await client.uploadTable(
      /** @type {ReadableStream<Uint8Array>} */ ((await openAsBlob(file)).stream()),
    );
    assert.equal(streamed.tableId, uploaded.tableId);

    /** @type {Record<string, import("@cleave-project/cleave").Cell>[]} */
    const rows = [];
    for await (const part of client.api.tables.getTableRows({ tableId: uploaded.tableId })) {
      const columns = part.rows?.columns ?? [];
      const count = columns[0]?.cells.value?.values.length ?? 0;
      for (let row = 0; row < count; row++) {
        rows.push(
          Object.fromEntries(
            columns.map((c) => {
              const cell = c.cells.value?.values[row];
              return [c.name, c.emptyRows.includes(row) ? null : typeof cell === "bigint" ? Number(cell) : cell];
            }),
          ),
        );
      }
    }
    const columns = Object.fromEntries(Object.keys(rows[0] ?? {}).map((name) => [name, rows.map((row) => row[name])]));
    assert.equal((await client.uploadTable(rows)).tableId, uploaded.tableId);
    assert.equal((await client.uploadTable(columns)).tableId, uploaded.tableId);

    const job = await client.createJob({ data: uploaded, k: 3, table: { labelColumn: "segment" } });
    const out = path.join(cluster.dir, "customers");
    await cleave("run", "--data", file, "--k", "3", "--label-column", "segment", "--out", out);
    const { labels, ids } = await job.labels();
    assert.deepEqual(labels, await labelsOf(out));
    assert.equal(ids?.[0], "C878-001");
    const predicted = await job.predict(uploaded);
    assert.equal(predicted.labels.length, labels.length);
    assert.deepEqual(predicted.ids, ids);
  });

  await t.test("points and graphs", async () => {
    const values = Float64Array.of(0, -0, 1, 1, 2, 0.1, 10, 1e-300, 11, 1, 12, 5e-324);
    const flat = await client.uploadPoints(values, 2);
    const nested = await client.uploadPoints([
      [0, -0],
      [1, 1],
      [2, 0.1],
      [10, 1e-300],
      [11, 1],
      [12, 5e-324],
    ]);
    assert.equal(nested.datasetId, flat.datasetId);
    const job = await client.createJob({
      data: flat,
      k: 2,
      mustLink: [
        [0, 1, 0.5],
        [1, 2],
      ],
      cannotLink: [[0, 3]],
      algorithm: "pc-kmeans",
    });
    const { labels } = await job.labels();
    assert.equal(labels[0], labels[2]);
    assert.notEqual(labels[0], labels[3]);
    assert.deepEqual((await job.predict(flat)).labels, labels);
    assert.deepEqual((await job.result()).clusterSizes, [3, 3]);

    const graph = await client.uploadGraph([
      [0, 1],
      [1, 2],
      [0, 2],
      [3, 4],
      [4, 5],
      [3, 5],
      [2, 3, 0.1],
    ]);
    assert.equal(graph.rows, 6);
    const parts = await (await client.createJob({ data: graph, k: 2 })).labels();
    assert.equal(new Set(parts.labels.slice(0, 3)).size, 1);
    assert.notEqual(parts.labels[0], parts.labels[5]);
  });

  await t.test("an upload in many parts goes on where it was cut", async () => {
    const columns = { word: Array.from({ length: 40_000 }, (_, at) => `${at} `.repeat(200).slice(0, 1000)) };
    /** @type {number[]} */
    const firstParts = [];
    /** @type {typeof fetch} */
    const cutting = async (input, init) => {
      if (!String(input).endsWith("/v1/tables")) return plain(input, init);
      const body = /** @type {ReadableStream<Uint8Array>} */ (init?.body);
      let messages = 0;
      const cut = body.pipeThrough(
        new TransformStream({
          transform(chunk, controller) {
            if (messages++ === 0) firstParts.push(JSON.parse(new TextDecoder().decode(chunk)).header.firstPart);
            // Sockets hold less than this, so that some parts have arrived. The server may notice it only after the next
            // attempt.
            if (firstParts.at(-1) === 0 && messages > 16) throw new TypeError("the test cut the connection");
            controller.enqueue(chunk);
          },
        }),
      );
      return plain(input, { ...init, body: cut });
    };
    const { newFetch } = await import("../dist/platform/node.js");
    const plain = newFetch({ ca: cluster.ca });
    const cutOff = new Cleave({ baseUrl: `https://${cluster.address}`, token: cluster.token, fetch: cutting });
    const [whole, resumed] = [await client.uploadTable(columns), await cutOff.uploadTable(columns)];
    assert.ok(firstParts.length > 1 && Number(firstParts.at(-1)) > 0, `attempts began with the parts ${firstParts}`);
    assert.equal(resumed.tableId, whole.tableId);
    assert.equal(resumed.rows, 40_000);
  });

  await t.test("a request ID makes a job unique", async () => {
    const data = await client.uploadPoints([[0], [1], [10], [11]]);
    const first = await client.createJob({ data, k: 2, requestId: "nightly-17" });
    const again = await client.createJob({ data, k: 2, requestId: "nightly-17" });
    assert.equal(again.id, first.id);
    await assert.rejects(
      client.createJob({ data, k: 3, requestId: "nightly-17" }),
      (error) => error instanceof CleaveError && error.code === "ALREADY_EXISTS",
    );
  });

  await t.test("a watch goes on after its coordinator was killed and started again", async () => {
    const job = await client.createJob({
      data: await client.uploadTable(await openAsBlob(data)),
      k: 2,
      ...pairs,
      seed: 11,
    });
    /** @type {number[]} */
    const seen = [];
    /** @type {Promise<void> | undefined} */
    let restarted;
    for await (const event of job.watch()) {
      seen.push(event.sequence);
      if (seen.length === 2) restarted = cluster.restart();
    }
    await restarted;
    assert.ok(restarted, "the job ended before its third event");
    assert.deepEqual(
      seen,
      seen.map((_, at) => at + 1),
      "events are missing or repeated",
    );
    assert.equal((await job.wait()).state, v1.JobState.SUCCEEDED);
    const out = path.join(cluster.dir, "out-restarted");
    await cleave(
      "run",
      "--data",
      data,
      "--k",
      "2",
      "--constraints",
      path.join(moons, "constraints.csv"),
      "--seed",
      "11",
      "--out",
      out,
    );
    assert.deepEqual((await job.labels()).labels, await labelsOf(out));
  });

  await t.test("a signal ends a watch, and a job can be canceled", async () => {
    const values = Float64Array.from({ length: 20_000 * 8 }, (_, at) => Math.sin(at * at));
    const data = await client.uploadPoints(values, 8);
    const job = await client.createJob({ data, k: 40, algorithm: "kernel-kmeans", spec: { restarts: 1000 } });
    const controller = new AbortController();
    const reason = new Error("enough");
    await assert.rejects(async () => {
      for await (const _ of job.watch({ signal: controller.signal, onProgress: () => controller.abort(reason) }))
        controller.abort(reason);
    }, reason);
    await job.cancel();
    await assert.rejects(job.wait(), {
      name: "CleaveError",
      code: "CANCELLED",
      reason: "JOB_CANCELLED",
      jobId: job.id,
    });
    assert.equal(job.state.state, v1.JobState.CANCELLED);
    await job.delete();
    await assert.rejects(job.refresh(), { name: "CleaveError", code: "NOT_FOUND", reason: "JOB_NOT_FOUND" });
  });

  await t.test("without a token, and without the authority", async () => {
    const stranger = new Cleave({ baseUrl: `https://${cluster.address}`, tls: { ca: cluster.ca } });
    await assert.rejects(stranger.api.jobs.listJobs({}), { name: "CleaveError", code: "UNAUTHENTICATED" });
    await assert.rejects(stranger.uploadTable("a\n1\n"), { name: "CleaveError", code: "UNAUTHENTICATED" });
    const distrustful = new Cleave({ baseUrl: `https://${cluster.address}`, token: cluster.token });
    await assert.rejects(distrustful.api.jobs.listJobs({}), {
      name: "CleaveError",
      reason: "HANDSHAKE_FAILED",
      code: "FAILED_PRECONDITION",
      isTemporary: false,
    });
  });
});

/** @param {string} name of a file of the repository */
function fileOf(name) {
  return new URL(`../../../${name}`, import.meta.url).pathname;
}
