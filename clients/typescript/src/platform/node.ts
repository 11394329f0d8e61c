/**
 * What differs between Node and browsers; browser.ts has the other half. Here fetch is that of undici, which Node
 * itself is built on: the global one cannot be given certificates.
 */
import { Agent, fetch as undiciFetch } from "undici";

/** Certificates, in PEM. */
export interface TLSOptions {
  /** The authorities that the server's certificate must be signed by; those of Node if unset. */
  ca?: string | Uint8Array;
  /** The certificate of this client, and its private key. */
  cert?: string | Uint8Array;
  key?: string | Uint8Array;
}

/** How a connection failed: nobody answers, the certificate is not trusted, or what answers is not HTTP. */
export type Failure = "unreachable" | "certificate" | "protocol";

/** Whether a request can have a stream as its body. */
export const streamsRequests = true;

/** Returns a fetch with certificates and without limits on how long a response may take. */
export function newFetch(tls: TLSOptions | undefined): typeof fetch {
  const pem = (text: string | Uint8Array | undefined) =>
    text === undefined || typeof text === "string" ? text : Buffer.from(text);
  const connect = tls && Object.fromEntries(Object.entries(tls).map(([name, text]) => [name, pem(text)]));
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0, ...(connect && { connect }) });
  // The types of undici and of the browser describe the same objects.
  return ((url: string, init: object) => undiciFetch(url, { ...init, dispatcher })) as unknown as typeof fetch;
}

const unreachable = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_DESTROYED",
]);
const certificate = /^(CERT_|DEPTH_ZERO|ERR_TLS_CERT|SELF_SIGNED|UNABLE_TO_)/;

/** Explains why fetch failed. */
export async function explain(error: unknown, _url: string): Promise<{ failure: Failure; detail: string }> {
  let cause = error as {
    cause?: unknown;
    code?: string;
    message?: string;
    reason?: string;
    errors?: unknown[];
    name?: string;
  };
  while (cause.cause) cause = cause.cause as typeof cause;
  if (cause.errors?.[0]) cause = cause.errors[0] as typeof cause;
  const code = cause.code ?? "";
  const failure =
    unreachable.has(code) || cause.name === "TimeoutError"
      ? "unreachable"
      : certificate.test(code)
        ? "certificate"
        : "protocol";
  return { failure, detail: cause.reason ?? (cause.message || code) };
}
