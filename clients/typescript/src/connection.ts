import { createClient, ConnectError, makeAnyClient } from "@connectrpc/connect";
import type { CallOptions as ConnectCallOptions, Client, Interceptor, Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { DescService } from "@bufbuild/protobuf";
import { explain, newFetch } from "#platform";
import type { TLSOptions } from "./platform/node.js";
import { CleaveError, clientError, fromConnect, fromStatus, invalid, isOfClient, isUnanswered } from "./errors.js";

/** Where the server is, and who calls. */
export interface ConnectionOptions {
  /** The URL of the coordinator, such as https://cluster.example:7400, or those of several, of which one leads. */
  baseUrl: string | readonly string[];
  /** The token of the user, as `cleave token create` prints it. */
  token?: string;
  /** Certificates; Node only. */
  tls?: TLSOptions;
  /** Allows http to other machines, without a token: anyone on the network path can read and change everything. */
  insecure?: boolean;
  /**
   * How long calls wait for a server that was reached before and does not answer now, in milliseconds; 60,000 if unset.
   * Where no server was ever reached, and none waits to lead, calls give up after two seconds or sooner.
   */
  retryForMs?: number;
  /** Replaces the fetch of the platform. It has its own certificates, so that tls must be unset. */
  fetch?: typeof fetch;
}

/** Options of every call. */
export interface CallOptions {
  /** Ends the call, which then fails with the reason of the signal. */
  signal?: AbortSignal | undefined;
}

const firstPauseMs = 100;
const maxPauseMs = 2000;
const maxRounds = 5; // how often all servers are tried if none has answered
const electionMs = 30_000; // how long, if one of them waits to lead
const maxRefusals = 6; // how often a call is repeated that the server refuses for now
const maxRefusalPauseMs = 20_000;
const maxRestarts = 6; // how often a download begins again that breaks off each time
const probeTimeoutMs = 5000;

const loopback = /^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\])$/; // hosts to which connections stay on this machine

/** Connection makes calls to the server that leads, retries them, and explains why they fail. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #urls: readonly string[];
  #current: string; // of #urls, or one that a standby named
  readonly #transport: Transport;
  readonly #fetch: typeof fetch;
  readonly #headers: Record<string, string>;
  readonly #retryForMs: number;
  readonly #explained = new WeakSet<object>(); // errors that callers have got already, or pass on
  #reached = false;

  constructor(options: ConnectionOptions) {
    const given =
      typeof options.baseUrl === "string" || options.baseUrl.length === 0 ? [String(options.baseUrl)] : options.baseUrl;
    if (options.fetch && options.tls)
      throw invalid("BAD_VALUE", "fetch and tls are both given, but tls is for the fetch of the platform", "tls");
    const token = checkedToken(options.token);
    this.#options = options;
    this.#urls = given.map((url) => checkedURL(url, options));
    const first = (this.#current = this.#urls[0]!);
    this.#fetch = options.fetch ?? newFetch(options.tls);
    this.#headers = token ? { authorization: `Bearer ${token}` } : {};
    this.#retryForMs = options.retryForMs ?? 60_000;
    const authenticate: Interceptor = (next) => (request) => {
      for (const [name, value] of Object.entries(this.#headers)) request.header.set(name, value);
      return next(request);
    };
    const toCurrent: typeof fetch = (input, init) =>
      this.#fetch(this.#current + String(input).slice(first.length), init);
    this.#transport = createConnectTransport({
      baseUrl: first,
      useBinaryFormat: true,
      fetch: toCurrent,
      interceptors: [authenticate],
    });
  }

  /** The URL of the server that is called. */
  get baseUrl(): string {
    return this.#current;
  }

  /** Moves on from a server that did not answer or does not lead, to the one that it names or to the next. */
  #leave(url: string, error: unknown): void {
    if (url !== this.#current || !(error instanceof CleaveError)) return; // another call has moved on already
    if (!isUnavailable(error) || error.retryAfterMs !== undefined) return; // the server answered
    const leader = this.#leaderOf(error);
    this.#current =
      leader && leader !== url ? leader : this.#urls[(this.#urls.indexOf(url) + 1) % this.#urls.length]!;
  }

  /** Returns the URL of the leader that a standby names, unless that is one that the client may not connect to. */
  #leaderOf(error: CleaveError): string | undefined {
    const address = error.metadata.leader;
    if (error.reason !== notLeader || !address) return undefined;
    try {
      return checkedURL(`${new URL(this.#current).protocol}//${address}`, this.#options);
    } catch {
      return undefined; // a standby may name any address
    }
  }

  /** Returns a client of a service, whose methods retry and fail with a CleaveError. Streams are not retried. */
  client<S extends DescService>(service: S): Client<S> {
    const plain = createClient(service, this.#transport) as Record<
      string,
      (input: never, options?: ConnectCallOptions) => unknown
    >;
    return makeAnyClient(service, (method) => {
      const call = plain[method.localName]!;
      switch (method.methodKind) {
        case "unary":
          return (input: { requestId?: string }, options?: ConnectCallOptions) => {
            // A job needs an ID, so that repeating the call creates no second one.
            const request =
              method.name === "CreateJob" && !input.requestId ? { ...input, requestId: crypto.randomUUID() } : input;
            return this.retry(() => call(request as never, options) as Promise<unknown>, options);
          };
        case "server_streaming":
          return (input: never, options?: ConnectCallOptions) =>
            this.#stream(() => call(input, options) as AsyncIterable<unknown>, options);
        default: // fetch cannot stream requests
          return () => {
            throw new CleaveError(
              "UNIMPLEMENTED",
              `${method.name} cannot be called over HTTP; use uploadTable, uploadPoints or uploadGraph`,
            );
          };
      }
    }) as Client<S>;
  }

  async *#stream(call: () => AsyncIterable<unknown>, options: CallOptions | undefined): AsyncIterable<unknown> {
    const url = this.#current;
    try {
      for await (const message of call()) {
        this.#reached = true;
        yield message;
      }
    } catch (error) {
      throw await this.#explain(error, url, options?.signal);
    }
  }

  /** Sends a body to a URL of the REST API and returns the JSON of the response. */
  async post(path: string, contentType: string, body: BodyInit, signal: AbortSignal | undefined): Promise<unknown> {
    return this.attempt(
      async () => {
        const init: RequestInit & { duplex?: "half" } = {
          method: "POST",
          headers: { ...this.#headers, "content-type": contentType },
          body,
        };
        if (body instanceof ReadableStream) init.duplex = "half";
        if (signal) init.signal = signal;
        const response = await this.#fetch(this.baseUrl + path, init);
        const text = await response.text();
        const json = parsed(text);
        if (response.ok && json !== undefined) return json;
        throw (
          fromStatus(json) ??
          new CleaveError("UNKNOWN", `POST ${path} answered ${response.status}: ${text.slice(0, 200)}`)
        );
      },
      { signal },
    );
  }

  /** Calls a function once. It fails with a CleaveError, or with the reason of the signal. */
  async attempt<T>(call: () => Promise<T>, options: CallOptions = {}): Promise<T> {
    const url = this.#current;
    try {
      const response = await call();
      this.#reached = true;
      return response;
    } catch (error) {
      throw await this.#explain(error, url, options.signal);
    }
  }

  /**
   * Calls a function that may be called again until it succeeds, fails for good, or the server was away for too long.
   */
  async retry<T>(call: () => Promise<T>, options: CallOptions = {}): Promise<T> {
    const budget = this.retryBudget();
    for (;;) {
      try {
        return await this.attempt(call, options);
      } catch (error) {
        await budget.pause(error, options.signal);
      }
    }
  }

  /** Returns pauses between the attempts of one call. */
  retryBudget(): RetryBudget {
    return new RetryBudget(this.#urls.length, this.#retryForMs, () => this.#reached);
  }

  /** Returns the error that a caller gets: the reason of an aborted signal, or a CleaveError. */
  async #explain(error: unknown, url: string, signal: AbortSignal | undefined): Promise<unknown> {
    if (signal?.aborted) {
      this.#leave(url, signal.reason); // of a watch that heard nothing
      return signal.reason;
    }
    if (this.#explained.has(Object(error))) return error;
    const explained = await this.#explanation(error, url, signal);
    this.#leave(url, explained);
    this.#explained.add(Object(explained));
    return explained;
  }

  async #explanation(error: unknown, url: string, signal: AbortSignal | undefined): Promise<unknown> {
    const failed =
      error instanceof CleaveError ? error : error instanceof ConnectError ? fromConnect(error) : undefined;
    if (failed && !isUnanswered(failed)) {
      this.#reached = true;
      return failed;
    }
    return (await this.#diagnose(error, failed, url, signal)) ?? failed ?? error;
  }

  /**
   * Finds out why a call got no answer of Cleave by asking what is at the address. failed is the error as the server
   * said it, if it did. It returns undefined if that is the answer of a server of this version of the API.
   */
  async #diagnose(
    cause: unknown,
    failed: CleaveError | undefined,
    url: string,
    signal: AbortSignal | undefined,
  ): Promise<CleaveError | undefined> {
    const timeout = AbortSignal.timeout(probeTimeoutMs);
    let response: Response;
    let text: string;
    try {
      response = await this.#fetch(url + "/", { signal: signal ? AbortSignal.any([signal, timeout]) : timeout });
      text = await response.text();
    } catch (probed) {
      const { failure, detail } = await explain(probed, url);
      if (failure === "certificate") {
        const message = `the certificate of the server at ${url} is not trusted: ${detail}`;
        return clientError("HANDSHAKE_FAILED", `${message}; pass its authority as tls.ca`, { cause });
      }
      if (failure === "protocol" && !this.#reached) {
        const other = url.startsWith("https:") ? "http" : "https";
        const message = `something listens at ${url}, but it is not Cleave, or it wants ${other}`;
        return clientError("NOT_CLEAVE", `${message}; check the address (${detail})`, { cause });
      }
      return clientError("NOT_REACHABLE", `the server at ${url} does not answer: ${detail}`, { cause });
    }
    const about = parsed(text) as { service?: unknown; api?: unknown; version?: unknown } | undefined;
    if (about?.service === "cleave") {
      const metadata = { version: String(about.version) };
      if (about.api !== "/v1") {
        const message =
          `the server at ${url} has the API ${about.api}, and this client has /v1; ` +
          "install the version of this package that belongs to the server";
        return clientError("OTHER_API_VERSION", message, { metadata, cause });
      }
      if (failed?.code === "UNIMPLEMENTED") {
        return clientError("OTHER_API_VERSION", `the server at ${url} is older than this client: ${failed.message}`, {
          metadata,
          cause,
        });
      }
      const answered = cause instanceof CleaveError || (cause instanceof ConnectError && cause.cause === undefined);
      if (answered && failed?.code !== "UNAVAILABLE") return undefined;
      const detail = cause instanceof Error ? cause.message : String(cause);
      return clientError("NOT_REACHABLE", `the connection to the server at ${url} broke: ${detail}`, { cause });
    }
    const refusal = fromStatus(about);
    if (refusal) return refusal; // of a page or a host name that is not allowed
    if (response.status >= 502 && response.status <= 504) {
      const message = `the server at ${url} does not answer: a proxy says ${response.status}`;
      return clientError("NOT_REACHABLE", message, { cause });
    }
    return clientError("NOT_CLEAVE", `something other than Cleave answers at ${url}; check the address`, { cause });
  }
}

/** The reason of the error of a server that does not lead. */
const notLeader = "NOT_LEADER";

/** Reports whether a server did not answer, or cannot serve calls now. */
function isUnavailable(error: CleaveError): boolean {
  return error.code === "UNAVAILABLE" || error.reason === "HANDSHAKE_FAILED"; // the next may have another certificate
}

/**
 * RetryBudget decides whether and when a call is made again, as docs/CLIENT-CONTRACT.md says. The pauses are partly
 * random, so that clients that were cut off together come back one by one.
 */
export class RetryBudget {
  #since: number | undefined; // when the first failure came
  #tries = 0; // servers that were unavailable in this round
  #rounds = 0; // how often all of them were
  #refusals = 0; // failures that said when to retry
  #standby = false; // a server waits to lead
  #heard = false; // the call has delivered something
  #received = false; // so has this attempt, after which the next one will begin again
  #restarts = 0; // attempts of that kind

  /** reached tells whether a server has ever answered. */
  constructor(
    private readonly servers: number,
    private readonly limitMs: number,
    private readonly reached: () => boolean,
  ) {}

  /** Notes that this attempt has delivered something, after which the next one will not continue. */
  received(): void {
    this.#received = true;
  }

  /** Starts anew, because the next attempt will continue after what this one has delivered. */
  reset(): void {
    this.#beginAnew(0);
  }

  #beginAnew(restarts: number): void {
    this.#received = false;
    this.#restarts = restarts;
    this.#since = undefined;
    this.#tries = this.#rounds = this.#refusals = 0;
    this.#standby = false;
    this.#heard = true;
  }

  /** Waits before the next attempt, or throws the error if there should not be one. */
  async pause(error: unknown, signal: AbortSignal | undefined): Promise<void> {
    const wait = error instanceof CleaveError ? this.#wait(error) : undefined;
    if (wait === undefined) throw error;
    await sleep(wait, signal);
  }

  /** Returns how long to wait before the next attempt, or undefined if there should not be one. */
  #wait(error: CleaveError): number | undefined {
    if (this.#received) {
      if (this.#restarts === maxRestarts) return undefined;
      this.#beginAnew(this.#restarts + 1);
    }
    const now = performance.now();
    this.#since ??= now;
    if (error.retryAfterMs !== undefined) {
      if (this.#refusals === maxRefusals) return undefined;
      const pause = Math.max(error.retryAfterMs, firstPauseMs) * 2 ** this.#refusals++;
      return Math.min(pause, maxRefusalPauseMs) * (1 + Math.random() / 2);
    }
    if (!isUnavailable(error)) return undefined;
    const standby = error.reason === notLeader;
    this.#standby ||= standby;
    this.#tries++;
    if (this.#tries < this.servers || (standby && this.#tries <= this.servers)) return 0; // at once, with another
    this.#tries = 0;
    this.#rounds++;
    if (!this.#isPatient(error, now - this.#since)) return undefined;
    return Math.min(firstPauseMs * 2 ** (this.#rounds - 1), maxPauseMs) * (0.5 + Math.random() / 2);
  }

  /** Reports whether to try all servers again. */
  #isPatient(error: CleaveError, failedForMs: number): boolean {
    if (failedForMs > this.limitMs) return false;
    if (this.#heard) return true;
    if (this.#standby) return failedForMs <= electionMs;
    return (this.reached() && (error.reason === "" || isOfClient(error))) || this.#rounds < maxRounds;
  }
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns a token without the white space around it. It refuses one that no header can have. */
function checkedToken(given: string | undefined): string {
  const token = (given ?? "").trim();
  if (!/^[!-~]*$/.test(token))
    throw invalid(
      "BAD_TOKEN",
      "the token has spaces or control characters; give the token and nothing else",
      "token",
    );
  return token;
}

/** Returns a URL in canonical form. It refuses one that is none, and connections that others could read. */
function checkedURL(given: string, { token, insecure }: ConnectionOptions): string {
  let url: URL | undefined;
  try {
    url = new URL(given);
  } catch {
    // Handled below.
  }
  if (url?.protocol !== "http:" && url?.protocol !== "https:") {
    throw invalid(
      "BAD_VALUE",
      `baseUrl is ${JSON.stringify(given)}; it must be a URL such as http://localhost:7400`,
      "baseUrl",
    );
  }
  if (url.protocol === "http:" && !loopback.test(url.hostname)) {
    if (!insecure) {
      throw invalid(
        "NO_ENCRYPTION",
        `${url.host} is another machine, and http is not encrypted; ` +
          "use https, or set insecure to connect without encryption",
        "baseUrl",
      );
    }
    if (token !== undefined) {
      throw invalid(
        "TOKEN_WITHOUT_ENCRYPTION",
        `a token would be sent to ${url.host} without encryption, for anyone on the network path to use; use https`,
        "token",
      );
    }
  }
  return url.href.replace(/\/+$/, "");
}
