/** Real processes for the tests: the programs of Cleave, certificates, and a proxy that cuts connections. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, readFile, rm } from "node:fs/promises";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const bin = process.env["CLEAVE_BIN"] ?? fileURLToPath(new URL("../../../bin", import.meta.url));
await access(path.join(bin, "cleave")).catch(() => {
  throw new Error(
    `there is no program cleave in ${bin}; ` +
      "run make build, or set CLEAVE_BIN to the folder with cleave, coordinator and worker",
  );
});

/** @typedef {{ after(cleanup: () => unknown): void }} Context collects what is to be done after a test. */

/**
 * Returns a context whose cleanups run after the test, the last one first.
 * @param {import("node:test").TestContext} t
 * @returns {Context}
 */
export function cleanups(t) {
  /** @type {(() => unknown)[]} */
  const all = [];
  t.after(async () => {
    for (const cleanup of all.reverse()) await cleanup();
  });
  return { after: (cleanup) => void all.push(cleanup) };
}

/**
 * Makes a folder that is removed after the test.
 * @param {Context} t
 */
export async function folder(t) {
  const dir = await mkdtemp(path.join(os.tmpdir(), "cleave-typescript-"));
  t.after(() => rm(dir, { recursive: true, force: true, maxRetries: 10 }));
  return dir;
}

/**
 * Runs a command of cleave to its end, and returns what it prints.
 * @param {...string} args
 */
export async function cleave(...args) {
  return (await promisify(execFile)(path.join(bin, "cleave"), args)).stdout;
}

/**
 * Starts a program that is stopped after the test, and returns the first line that it prints that matches.
 * @param {Context} t
 * @param {string} command
 * @param {string[]} args
 * @param {object} [wait]
 * @param {RegExp} [wait.line]
 * @param {"stdout" | "stderr"} [wait.stream]
 * @param {Record<string, string>} [wait.env]
 * @param {(child: import("node:child_process").ChildProcess) => void} [wait.child]
 */
export async function start(t, command, args, wait = {}) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...wait.env } });
  wait.child?.(child);
  let log = "";
  child.stderr.on("data", (part) => (log += part));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  t.after(async () => {
    child.kill("SIGTERM");
    await ended;
  });
  if (!wait.line) return "";
  for await (const text of createInterface(child[wait.stream ?? "stdout"])) {
    const found = wait.line.exec(text);
    if (found) {
      child[wait.stream ?? "stdout"].resume();
      return found[1] ?? "";
    }
  }
  throw new Error(`${command} ended before it printed ${wait.line}: ${log}`);
}

/**
 * Starts a server without certificates, and returns its URL.
 * @param {Context} t
 * @param {...string} args
 */
export async function serve(t, ...args) {
  const address = await start(t, path.join(bin, "cleave"), ["serve", "--listen", "127.0.0.1:0", ...args], {
    line: /^listening on (\S+)/,
  });
  return `http://${address}`;
}

/**
 * Starts a coordinator with certificates and tokens. Workers are started separately. restart kills the coordinator, and
 * starts it again at the same address.
 * @param {Context} t
 * @param {...string} args
 */
export async function secureCluster(t, ...args) {
  const dir = await folder(t);
  const certs = path.join(dir, "certs");
  const tokens = path.join(dir, "tokens");
  await cleave("certs", "init", "--host", "localhost", "--host", "127.0.0.1", "--dir", certs);
  const printed = await cleave("token", "create", "--name", "tester", "--file", tokens);
  const token = /\S{20,}/.exec(printed)?.[0] ?? "";
  /** @type {import("node:child_process").ChildProcess} */
  let coordinator;
  const startCoordinator = (/** @type {string} */ listen) =>
    start(
      t,
      path.join(bin, "coordinator"),
      [
        "--listen",
        listen,
        "--data-dir",
        path.join(dir, "state"),
        "--tls",
        path.join(certs, "coordinator"),
        "--token-file",
        tokens,
        "--memory",
        "1GiB",
        ...args,
      ],
      { line: /^listening on (\S+)/, child: (child) => (coordinator = child) },
    );
  const address = await startCoordinator("127.0.0.1:0");
  return {
    dir,
    address,
    restart: async () => {
      const ended = once(coordinator, "exit");
      coordinator.kill("SIGKILL");
      await ended;
      await startCoordinator(address);
    },
    token,
    ca: await readFile(path.join(certs, "admin", "ca.pem"), "utf8"),
    admin: path.join(certs, "admin"),
    /** Starts workers. */
    startWorkers: async (/** @type {number} */ count) => {
      for (let i = 0; i < count; i++) {
        await start(t, path.join(bin, "worker"), [
          "--coordinator",
          address,
          "--tls",
          path.join(certs, "worker"),
          "--memory",
          "256MiB",
          "--threads",
          "1",
          "--name",
          `w${i}`,
        ]);
      }
    },
  };
}

/**
 * Starts a proxy in front of an address. cut breaks all of its connections.
 * @param {Context} t
 * @param {string} address
 */
export async function cuttingProxy(t, address) {
  const [host, port] = address.split(":");
  /** @type {Set<net.Socket>} */
  const open = new Set();
  let connections = 0;
  const server = net.createServer((client) => {
    connections++;
    const upstream = net.connect(Number(port), host);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ]) {
      open.add(/** @type {net.Socket} */ (from));
      from?.on("error", () => {});
      from?.on("close", () => {
        open.delete(from);
        to?.destroy();
      });
      from?.pipe(/** @type {net.Socket} */ (to));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => open.forEach((socket) => socket.destroy());
  t.after(() => {
    cut();
    server.close();
  });
  return {
    address: `127.0.0.1:${/** @type {net.AddressInfo} */ (server.address()).port}`,
    cut,
    connections: () => connections,
  };
}

/**
 * Returns the labels that a run of the command line wrote.
 * @param {string} dir
 */
export async function labelsOf(dir) {
  const [, ...lines] = (await readFile(path.join(dir, "labels.csv"), "utf8")).trimEnd().split("\n");
  return Int32Array.from(lines, (line) => Number(line.split(",")[1]));
}

/**
 * Reads constraints as the command line writes them.
 * @param {string} file
 */
export async function readPairs(file) {
  const [, ...lines] = (await readFile(file, "utf8")).trimEnd().split("\n");
  /** @type {{ mustLink: [number, number][], cannotLink: [number, number][] }} */
  const pairs = { mustLink: [], cannotLink: [] };
  for (const line of lines) {
    const [i, j, kind] = line.split(",");
    pairs[kind === "must" ? "mustLink" : "cannotLink"].push([Number(i), Number(j)]);
  }
  return pairs;
}
