/** The browser bundle in Chromium, on a page of another origin than the coordinator's. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import http from "node:http";
import path from "node:path";
import { test } from "node:test";
import { WebSocket } from "undici";
import { cleanups, cleave, cuttingProxy, folder, labelsOf, readPairs, secureCluster, start } from "./processes.js";

const chromium = ["chromium", "google-chrome"].find((name) => {
  try {
    execFileSync(name, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
});

/**
 * Opens a page in Chromium and returns the values of expressions on it.
 * @param {import("./processes.js").Context} context
 * @param {string} url
 * @param {string[]} expressions
 * @returns {Promise<any[]>}
 */
async function evaluateOn(context, url, expressions) {
  const profile = await folder(context);
  // The authority of the test is not installed in the browser; pages on this machine may call each other.
  const flags = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--ignore-certificate-errors",
    "--remote-debugging-port=0",
    `--user-data-dir=${profile}`,
  ];
  const endpoint = await start(context, /** @type {string} */ (chromium), [...flags, "about:blank"], {
    line: /DevTools listening on (ws:\S+)/,
    stream: "stderr",
    env: { TMPDIR: profile },
  });
  const socket = new WebSocket(endpoint);
  await once(socket, "open");
  let calls = 0;
  /** @type {Map<number, (response: any) => void>} */
  const waiting = new Map();
  /** @type {(value?: unknown) => void} */
  let loaded = () => {};
  const load = new Promise((resolve) => (loaded = resolve));
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(String(data));
    if (message.method === "Page.loadEventFired") loaded();
    waiting.get(message.id)?.(message);
  });
  /** @param {string} method @param {object} params @param {string} [sessionId] @returns {Promise<any>} */
  const call = async (method, params, sessionId) => {
    const id = ++calls;
    const answer = new Promise((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params, sessionId }));
    const { result, error } = await answer;
    assert.equal(error, undefined, `${method}: ${error?.message}`);
    return result;
  };
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
  await call("Page.enable", {}, sessionId);
  await call("Page.navigate", { url }, sessionId);
  await load;
  const values = [];
  for (const expression of expressions) {
    const { result, exceptionDetails } = await call(
      "Runtime.evaluate",
      { expression, awaitPromise: true, returnByValue: true },
      sessionId,
    );
    assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
    values.push(result.value);
  }
  socket.close();
  return values;
}

test(
  "a page in Chromium",
  { timeout: 200_000, skip: !chromium && "Chromium is not installed: apt-get install chromium" },
  async (t) => {
    const context = cleanups(t);
    /** @type {Map<string, { type: string, body: string | Buffer }>} */
    const files = new Map();
    let cuts = 0;
    let cut = () => {};
    const pages = http.createServer((request, response) => {
      if (request.url === "/cut") {
        cuts++;
        cut();
      }
      const file = files.get(request.url ?? "");
      response.writeHead(file ? 200 : 204, { "content-type": file?.type ?? "text/plain" });
      response.end(file?.body);
    });
    pages.listen(0, "127.0.0.1");
    await once(pages, "listening");
    context.after(() => pages.close());
    const origin = `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (pages.address()).port}`;

    const cluster = await secureCluster(context, "--cors-origin", origin);
    const proxy = await cuttingProxy(context, cluster.address);
    cut = proxy.cut;
    await cluster.startWorkers(3);
    const moons = path.join(cluster.dir, "moons");
    const out = path.join(cluster.dir, "out");
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
    await cleave(
      "run",
      "--data",
      path.join(moons, "data.csv"),
      "--k",
      "2",
      "--constraints",
      path.join(moons, "constraints.csv"),
      "--out",
      out,
    );

    const settings = {
      baseUrl: `https://${proxy.address}`,
      token: cluster.token,
      pairs: await readPairs(path.join(moons, "constraints.csv")),
    };
    files.set("/", { type: "text/html", body: await readFile(new URL("page.html", import.meta.url)) });
    files.set("/cleave.browser.js", {
      type: "text/javascript",
      body: await readFile(new URL("../dist/cleave.browser.js", import.meta.url)),
    });
    files.set("/data.csv", { type: "text/csv", body: await readFile(path.join(moons, "data.csv")) });
    files.set("/settings", { type: "application/json", body: JSON.stringify(settings) });

    const [outcome, labels] = await evaluateOn(context, origin, [
      "window.outcome",
      "document.querySelector('#labels').textContent",
    ]);
    assert.equal(outcome.failed, undefined);
    assert.equal(cuts, 1);
    assert.deepEqual(
      outcome.events,
      outcome.events.map((/** @type {number} */ _, /** @type {number} */ at) => at + 1),
    );
    assert.deepEqual(Int32Array.from(labels.split(","), Number), await labelsOf(out));
    assert.equal(outcome.columns, 4);
    assert.equal(outcome.points, "c5dd38bddc1973f2d8d900925c7410050c18876f1ab86bbfb845d2e102d34969");
    assert.deepEqual(outcome.refused, [
      true,
      "INDEX_OUT_OF_RANGE",
      'row 0, column "j": point 6 is outside 0..5 (mustLink[0])',
    ]);
    assert.equal(outcome.elsewhere, "NOT_CLEAVE");
    assert.equal(outcome.down, "NOT_REACHABLE");
  },
);
