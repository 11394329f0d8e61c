/** What differs between Node and browsers; see node.ts. */
import { invalid } from "../errors.js";
import type { Failure, TLSOptions } from "./node.js";

export type { Failure, TLSOptions };

export const streamsRequests = false; // over HTTP/1.1 they cannot

export function newFetch(tls: TLSOptions | undefined): typeof fetch {
  if (tls)
    throw invalid(
      "BAD_VALUE",
      "browsers choose certificates themselves; leave tls out, and install the authority in the browser",
      "tls",
    );
  return (input, init) => fetch(input, init);
}

/** A browser does not tell a page why fetch failed. Whether something answers at all shows without CORS. */
export async function explain(error: unknown, url: string): Promise<{ failure: Failure; detail: string }> {
  const detail = error instanceof Error ? error.message : String(error);
  try {
    await fetch(url, { mode: "no-cors", signal: AbortSignal.timeout(5000) });
  } catch {
    return { failure: "unreachable", detail };
  }
  return {
    failure: "protocol",
    detail: `or it does not allow this page to call it: coordinator --cors-origin ${globalThis.location?.origin}`,
  };
}
