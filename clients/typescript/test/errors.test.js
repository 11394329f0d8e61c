/** Bad input, and addresses where no server of this API answers. */
import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import { test } from "node:test";
import { Cleave, CleaveError, v1 } from "@cleave-project/cleave";
import { RetryBudget } from "../dist/connection.js";
import { cleanups, serve } from "./processes.js";

/** @typedef {import("@cleave-project/cleave").JobOptions} JobOptions */

/** @param {Promise<unknown>} call */
async function errorOf(call) {
  const error = await call.then(
    () => assert.fail("the call succeeded"),
    (failure) => failure,
  );
  assert.ok(error instanceof CleaveError, String(error));
  return error;
}

test("bad input", { timeout: 200_000 }, async (t) => {
  const baseUrl = await serve(cleanups(t));
  const server = new Cleave({ baseUrl });
  let requests = 0;
  const client = new Cleave({ baseUrl, fetch: (input, init) => (requests++, fetch(input, init)) });
  const data = await server.uploadPoints([[0], [1], [2], [10], [11], [12]]);

  /** @param {string} body */
  const upload = (/** @type {string} */ path, body) => async () => {
    const response = await fetch(baseUrl + path, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body,
    });
    const status = /** @type {any} */ (await response.json());
    const details = Object.fromEntries(status.details.map((/** @type {any} */ d) => [d["@type"].split(".").at(-1), d]));
    return new CleaveError("INVALID_ARGUMENT", status.message, {
      reason: details.ErrorInfo.reason,
      field: details.BadRequest?.fieldViolations[0].field ?? "",
    });
  };

  /** @type {[string, () => Promise<unknown>, () => Promise<CleaveError>][]} */
  const cases = [
    [
      "NaN among points",
      () =>
        client.uploadPoints([
          [0, 1],
          [2, NaN],
        ]),
      upload("/v1/datasets", '{"header":{"points":{"columns":2}}}{"values":{"values":[0,1,2,"NaN"]}}'),
    ],
    [
      "infinity among points",
      () => client.uploadPoints(Float64Array.of(1, -Infinity), 1),
      upload("/v1/datasets", '{"header":{"points":{"columns":1}}}{"values":{"values":[1,"-Infinity"]}}'),
    ],
    [
      "values that fill no row",
      () => client.uploadPoints(Float64Array.of(1, 2, 3, 4, 5), 3),
      upload("/v1/datasets", '{"header":{"points":{"columns":3}}}{"values":{"values":[1,2,3,4,5]}}'),
    ],
    ["no columns", () => client.uploadPoints([[], []]), upload("/v1/datasets", '{"header":{"points":{"columns":0}}}')],
    ["no rows", () => client.uploadPoints([]), upload("/v1/datasets", '{"header":{"points":{"columns":1}}}')],
    [
      "NaN in a table",
      () => client.uploadTable({ x: [1, NaN] }),
      upload("/v1/tables", '{"header":{}}{"rows":{"columns":[{"name":"x","numbers":{"values":[1,"NaN"]}}]}}'),
    ],
    [
      "columns of different lengths",
      () => client.uploadTable({ x: [1, 2], y: [1] }),
      upload(
        "/v1/tables",
        '{"header":{}}{"rows":{"columns":[{"name":"x","integers":{"values":[1,2]}},' +
          '{"name":"y","integers":{"values":[1]}}]}}',
      ),
    ],
    [
      "an infinite weight of an edge",
      () =>
        client.uploadGraph([
          [0, 1],
          [1, 2, Infinity],
        ]),
      upload(
        "/v1/datasets",
        '{"header":{"graph":{}}}{"edges":{"sources":[0,1],"targets":[1,2],"weights":[1,"Infinity"]}}',
      ),
    ],
  ];
  for (const [name, refused, answered] of cases) {
    await t.test(`${name} fails before anything is sent, with the server's sentence`, async () => {
      requests = 0;
      const [ours, theirs] = [await errorOf(refused()), await answered()];
      assert.equal(requests, 0);
      assert.equal(ours.message, theirs.message);
      assert.equal(ours.reason, theirs.reason);
      assert.equal(ours.field, theirs.field);
      assert.equal(ours.code, theirs.code);
    });
  }

  for (const [options, reason, message] of /** @type {[Partial<JobOptions>, string, string][]} */ ([
    [
      {
        mustLink: [
          [0, 1],
          [0, 9],
        ],
      },
      "INDEX_OUT_OF_RANGE",
      'row 1, column "j": point 9 is outside 0..5 (mustLink[1])',
    ],
    [
      { mustLink: [[0, 1]], cannotLink: [[3, 3]] },
      "SELF_CANNOT_LINK",
      'row 1, column "j": point 3 has a cannot-link to itself (cannotLink[0])',
    ],
    [
      { mustLink: [[0, 1, -1]] },
      "BAD_WEIGHT",
      'row 0, column "weight": the weight is -1; weights must be positive and finite (mustLink[0])',
    ],
    [{ mustLink: [["a", "b"]] }, "BAD_COLUMN_TYPE", 'column "i" holds texts; it must hold integers'],
    [{ seeds: [[0, 7]] }, "BAD_SEED_LABEL", "seed 0 gives point 0 the label 7; labels are 0..1"],
    [
      {
        seeds: [
          [1, 0],
          [0, -1],
        ],
      },
      "BAD_SEED_LABEL",
      'row 1, column "label": the label is -1; seeds name clusters, which are numbered from 0 (seeds[1])',
    ],
    [{ seeds: [[6, 1]] }, "INDEX_OUT_OF_RANGE", 'row 0, column "index": point 6 is outside 0..5 (seeds[0])'],
    [{ k: 9 }, "BAD_K", "k is 9 but there are only 6 rows; k must be at most the number of rows"],
  ])) {
    await t.test(`the server's sentence with the argument: ${message}`, async () => {
      const error = await errorOf(client.createJob({ data, k: 2, ...options }));
      assert.equal(error.message, message);
      assert.equal(error.reason, reason);
      assert.equal(error.code, "INVALID_ARGUMENT");
      assert.equal(error.field, options.k ? "spec.k" : `spec.supervision.${options.seeds ? "seeds" : "constraints"}`);
    });
  }

  await t.test("cluster checks the data, and which rows there are, before it uploads", async () => {
    requests = 0;
    const points = [[0], [1], [10]];
    for (const [call, reason] of /** @type {[Promise<unknown>, string][]} */ ([
      [client.cluster(points, { k: 2, mustLink: [[0, 3]] }), "INDEX_OUT_OF_RANGE"],
      [client.cluster(points, { k: 2, seeds: [[-1, 0]] }), "INDEX_OUT_OF_RANGE"],
      [client.cluster(points, { k: 0 }), "BAD_K"],
      [client.cluster(points, { k: [2, 3.5] }), "BAD_K"],
      [client.cluster(points, /** @type {any} */ ({ k: [2, 3, 4] })), "BAD_K"],
      [client.cluster(points, /** @type {any} */ ({ k: [3] })), "BAD_K"],
      [client.cluster(points, { k: [3, 2] }), "BAD_K"],
      [client.cluster(points, { k: 2, seed: 1.5 }), "BAD_SEED"],
      [client.cluster(points, { k: 2, seed: -1n }), "BAD_SEED"],
      [client.cluster(points, /** @type {any} */ ({})), "BAD_K"],
      [client.cluster([[0, 1], [2]], { k: 2 }), "BAD_SHAPE"],
      [
        client.cluster(
          /** @type {any} */ ([
            [0, 1],
            [2, null],
          ]),
          { k: 2 },
        ),
        "NOT_FINITE",
      ],
      [
        client.cluster(
          /** @type {any} */ ([
            [0, 1],
            ["2", 3],
          ]),
          { k: 2 },
        ),
        "NOT_FINITE",
      ],
      [client.cluster([{ x: 1 }, { x: 2 }], { k: 2, cannotLink: [[0, 2]] }), "INDEX_OUT_OF_RANGE"],
      [client.cluster([{ day: new Date(0) }, { day: new Date("soon") }], { k: 2 }), "BAD_VALUE"],
      [client.cluster(points, { k: 2, mustLink: /** @type {any} */ ([[0, 1.5]]) }), "BAD_PAIR"],
      [client.cluster(points, { k: 2, mustLink: /** @type {any} */ ([0, 1]) }), "BAD_PAIR"],
      [client.cluster(points, { k: 2, mustLink: /** @type {any} */ ([[0, 1, "heavy"]]) }), "BAD_PAIR"],
      [client.cluster(points, { k: 2, seeds: /** @type {any} */ ([[0, "red"]]) }), "BAD_SEED"],
      [client.cluster(points, { k: 2, seeds: [[0, 0.5]] }), "BAD_SEED"],
    ])) {
      assert.equal((await errorOf(call)).reason, reason);
    }
    assert.equal(requests, 0);
  });

  await t.test("options of a table do not apply to points", async () => {
    const error = await errorOf(client.createJob({ data, k: 2, table: { idColumn: "name" } }));
    assert.equal(error.reason, "OPTION_DOES_NOT_APPLY");
    assert.equal(error.field, "spec.table");
  });

  await t.test("what only the server can tell", async () => {
    const ragged = await errorOf(client.uploadTable("a,b\n1,2,3\n4,5\n"));
    assert.equal(ragged.reason, "RAGGED_ROWS");
    assert.match(ragged.message, /line 3/);
    const table = await client.uploadTable("name,x\na,1\nb,2\nc,10\nd,11\n");
    const unknown = await errorOf(client.createJob({ data: table, k: 2, mustLink: [["a", "zoe"]] }));
    assert.equal(unknown.code, "INVALID_ARGUMENT");
    assert.match(unknown.message, /zoe/);
    assert.equal(unknown.field, "spec.supervision.constraints");
    const option = await errorOf(client.createJob({ data, k: 2, algorithm: /** @type {any} */ ("magic") }));
    assert.equal(option.reason, "UNKNOWN_ALGORITHM");
  });

  await t.test("rows by ID", async () => {
    const job = await client.cluster("name,x\na,1\nb,2\nc,10\nd,11\n", {
      k: 2,
      cannotLink: [["a", "b"]],
      mustLink: [["a", "c"]],
    });
    const { labels, ids } = await job.labels();
    assert.deepEqual(ids, ["a", "b", "c", "d"]);
    assert.equal(labels[0], labels[2]);
    assert.notEqual(labels[0], labels[1]);
  });

  await t.test("a large number of pairs", async () => {
    const rows = 22_000;
    const table = await client.uploadTable({
      x: Array.from({ length: rows }, (_, at) => (at % 2) * 10 + (at % 7) / 10),
    });
    const pairs = /** @type {[number, number][]} */ (Array.from({ length: rows - 2 }, (_, at) => [at, at + 2]));
    const job = await client.createJob({
      data: table,
      k: 2,
      mustLink: pairs,
      algorithm: "pc-kmeans",
      spec: { restarts: 1 },
    });
    const { labels } = await job.labels();
    assert.ok(labels.every((label, row) => label === labels[row % 2]));
  });
});

test("addresses", { timeout: 100_000 }, async (t) => {
  const context = cleanups(t);
  /** @param {net.Server} server */
  const listen = async (server) => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    context.after(() => server.close());
    return `127.0.0.1:${/** @type {net.AddressInfo} */ (server.address()).port}`;
  };
  /** @param {string} address */
  const failures = async (address, scheme = "http") => {
    const client = new Cleave({ baseUrl: `${scheme}://${address}`, retryForMs: 500 });
    const calls = [client.job("x"), client.uploadPoints([[1]]), client.watch("x").next(), client.uploadTable("x\n1\n")];
    return Promise.all(calls.map(errorOf));
  };

  const unused = async () => {
    const server = net.createServer();
    const address = await listen(server);
    server.close();
    await once(server, "close");
    return address;
  };

  await t.test("a server that is down", async () => {
    for (const [call, error] of (await failures(await unused())).entries()) {
      assert.equal(error.reason, call === 2 ? "WATCH_LOST" : "NOT_REACHABLE");
      assert.equal(error.code, "UNAVAILABLE");
      assert.match(error.message, /does not answer/);
    }
  });

  await t.test("a server of another API version", async () => {
    const address = await listen(
      http.createServer((request, response) => {
        response.writeHead(request.url === "/" ? 200 : 404, { "content-type": "application/json" });
        response.end(
          JSON.stringify(
            request.url === "/"
              ? { service: "cleave", version: "9.0.0", api: "/v2" }
              : { code: 5, message: "there is nothing here" },
          ),
        );
      }),
    );
    for (const error of await failures(address)) {
      assert.equal(error.reason, "OTHER_API_VERSION");
      assert.match(error.message, /\/v2/);
      assert.equal(error.metadata["version"], "9.0.0");
    }
  });

  await t.test("a web server that is not Cleave", async () => {
    const address = await listen(http.createServer((_, response) => response.end("<h1>It works</h1>")));
    for (const error of await failures(address)) assert.equal(error.reason, "NOT_CLEAVE");
  });

  await t.test("a port that does not speak HTTP", async () => {
    const address = await listen(
      net.createServer((socket) => {
        socket.on("error", () => {});
        socket.end("SSH-2.0-OpenSSH_9.2\r\n");
      }),
    );
    for (const error of await failures(address)) assert.equal(error.reason, "NOT_CLEAVE");
    for (const error of await failures(address, "https")) assert.equal(error.reason, "NOT_CLEAVE");
  });

  await t.test("a name that the server is not known by", async () => {
    const baseUrl = await serve(context);
    // The name does not exist; the test resolves it.
    const client = new Cleave({ baseUrl, fetch: (input, init) => requestAs("cleave.test", String(input), init) });
    const error = await errorOf(client.job("x"));
    assert.equal(error.code, "PERMISSION_DENIED");
    assert.match(error.message, /not known as "cleave.test"/);
  });

  await t.test("no URL", () => {
    assert.throws(() => new Cleave({ baseUrl: "localhost:7400" }), { name: "CleaveError", field: "baseUrl" });
    assert.throws(() => new Cleave({ baseUrl: "" }), { name: "CleaveError", field: "baseUrl" });
  });

  await t.test("connections that others could read", () => {
    const refused = { name: "CleaveError", code: "INVALID_ARGUMENT", field: "baseUrl", reason: "NO_ENCRYPTION" };
    for (const baseUrl of [
      "http://cluster.example:7400",
      "http://10.0.0.1:7400",
      "http://[fd00::1]:7400",
      "http://127.0.0.1.example",
    ]) {
      assert.throws(() => new Cleave({ baseUrl }), refused);
      assert.throws(() => new Cleave({ baseUrl: ["http://localhost:7400", baseUrl] }), refused);
      assert.throws(() => new Cleave({ baseUrl, token: "t", insecure: true }), {
        ...refused,
        field: "token",
        reason: "TOKEN_WITHOUT_ENCRYPTION",
      });
      assert.ok(new Cleave({ baseUrl, insecure: true }));
      assert.ok(new Cleave({ baseUrl: baseUrl.replace("http:", "https:"), token: "t" }));
    }
    for (const host of ["localhost", "127.0.0.9", "[::1]", "0.0.0.0"])
      assert.ok(new Cleave({ baseUrl: `http://${host}:7400`, token: "t" }));
  });

  await t.test("credentials that cannot be used", () => {
    const baseUrl = "http://localhost:7400";
    for (const token of ["two\nlines", "two words", "caf\u00e9"])
      assert.throws(() => new Cleave({ baseUrl, token }), { name: "CleaveError", field: "token", reason: "BAD_TOKEN" });
    assert.throws(() => new Cleave({ baseUrl, fetch, tls: { ca: "x" } }), { name: "CleaveError", field: "tls" });
  });

  await t.test("the token is sent without the line break at the end of its file", async () => {
    /** @type {unknown} */
    let sent;
    const client = new Cleave({
      baseUrl: await serve(context),
      token: "secret\n",
      fetch: (input, init) => {
        sent ??= new Headers(init?.headers).get("authorization");
        return fetch(input, init);
      },
    });
    await client.api.jobs.listJobs({}).catch(() => {});
    assert.equal(sent, "Bearer secret");
  });

  await t.test("pauses after refusals grow, and are partly random", async () => {
    /** @type {number[]} */
    const waits = [];
    const { setTimeout } = globalThis;
    const refusal = new CleaveError("UNAVAILABLE", "full", { reason: "NO_ROOM", retryAfterMs: 10_000 });
    /** @type {any} */ (globalThis).setTimeout = (/** @type {() => void} */ run, /** @type {number} */ ms) => {
      waits.push(ms);
      return setTimeout(run, 0);
    };
    try {
      for (let call = 0; call < 2; call++) {
        const budget = new RetryBudget(1, 60_000, () => true);
        for (let pause = 0; pause < 6; pause++) await budget.pause(refusal, undefined);
        await assert.rejects(budget.pause(refusal, undefined), refusal);
      }
    } finally {
      globalThis.setTimeout = setTimeout;
    }
    const [first = 0, second = 0] = waits;
    assert.ok(first >= 10_000 && first <= 15_000 && second >= 20_000 && second <= 30_000, String(waits));
    assert.ok(waits.every((ms) => ms <= 30_000) && new Set(waits).size === 12, String(waits));
  });

  await t.test("a download that begins again is given up after a few times", async () => {
    const broken = new CleaveError("UNAVAILABLE", "broken", { reason: "NOT_REACHABLE" });
    const budget = new RetryBudget(2, 60_000, () => true); // with two servers there is no pause
    const attempts = async () => {
      for (let restart = 0; restart < 6; restart++) {
        budget.received();
        await budget.pause(broken, undefined);
      }
    };
    await attempts();
    budget.reset(); // a part that the next attempt continues after
    await attempts();
    budget.received();
    await assert.rejects(budget.pause(broken, undefined), broken);
  });

  await t.test("one server of several answers", async () => {
    const baseUrl = await serve(context);
    const client = new Cleave({ baseUrl: [`http://${await unused()}`, `http://${await unused()}`, baseUrl + "/"] });
    const table = await client.uploadTable({ x: [1, 2, 9, 10] });
    const job = await client.createJob({ data: table, k: 2 });
    assert.equal((await job.wait()).state, v1.JobState.SUCCEEDED);
    assert.throws(() => new Cleave({ baseUrl: [] }), { name: "CleaveError", field: "baseUrl" });
    assert.throws(() => new Cleave({ baseUrl: [baseUrl, "nonsense"] }), { name: "CleaveError", field: "baseUrl" });
  });

  await t.test("a server that is silent is left for another", async () => {
    // as of a watch
    const silence = new CleaveError("UNAVAILABLE", "the server sent nothing", { reason: "NOT_REACHABLE" });
    let attempt = new AbortController();
    /** @type {string[]} */
    const called = [];
    const client = new Cleave({
      baseUrl: ["http://localhost:1", "http://localhost:2"],
      fetch: async (input) => {
        called.push(new URL(String(input)).port);
        attempt.abort(silence);
        throw silence;
      },
    });
    for (let call = 0; call < 2; call++) {
      attempt = new AbortController();
      await assert.rejects(
        client.api.jobs.watchJob({ jobId: "x" }, { signal: attempt.signal })[Symbol.asyncIterator]().next(),
        silence,
      );
    }
    assert.deepEqual(called, ["1", "2"]);
  });

  await t.test("a server that restarts is waited for", async () => {
    const baseUrl = await serve(context);
    let away = 3;
    const client = new Cleave({
      baseUrl,
      fetch: async (input, init) => {
        if (String(input).includes("JobService") && away-- > 0) throw new TypeError("fetch failed");
        return fetch(input, init);
      },
    });
    assert.deepEqual((await client.api.jobs.listJobs({})).jobs, []);
    assert.equal(away, -1);
  });
});

/**
 * Makes a request with another Host header, which fetch does not allow.
 * @param {string} host
 * @param {string} url
 * @param {RequestInit | undefined} init
 * @returns {Promise<Response>}
 */
async function requestAs(host, url, init) {
  const request = http.request(url, {
    method: init?.method ?? "GET",
    headers: { ...Object.fromEntries(new Headers(init?.headers)), host },
  });
  request.end(init?.body);
  const [response] = /** @type {[http.IncomingMessage]} */ (await once(request, "response"));
  const body = Buffer.concat(await response.toArray());
  return new Response(body, {
    status: response.statusCode ?? 0,
    headers: /** @type {Record<string, string>} */ (response.headers),
  });
}
