/**
 * The networks from which GitHub sends webhooks, as published by its `GET /meta`. The hub ships with a
 * snapshot and refreshes it in the background; no request waits for a refresh. If a refresh fails, the
 * last list stays in use and the next attempt follows after a backoff.
 */
import { z } from "zod";
import { isInNetworks, parseNetworks } from "../../kernel/http/addresses.ts";
import snapshot from "./github-ranges.json" with { type: "json" };

export interface GithubRangesOptions {
  apiUrl: string;
  fetch: typeof fetch;
  now: () => number;
  onError?: (error: unknown) => void;
}

/** The time between two successful refreshes. */
const FRESH_MS = 60 * 60 * 1000;
/** The delay after the first failure. It doubles with each further failure. */
const RETRY_MS = 60 * 1000;
const TIMEOUT_MS = 10_000;

const metaSchema = z.object({ hooks: z.array(z.string()).min(1) });

export interface GithubRanges {
  includes(address: string): boolean;
  /** Fetches the list if it is due. Resolves after success or failure. */
  refresh(): Promise<void>;
}

export function createGithubRanges({
  apiUrl,
  fetch,
  now,
  onError = () => {},
}: GithubRangesOptions): GithubRanges {
  let networks = parseNetworks(snapshot.hooks);
  let nextAttempt = 0;
  let failures = 0;
  let pendingRefresh: Promise<void> | undefined;

  const fetchRanges = async () => {
    try {
      const response = await fetch(`${apiUrl.replace(/\/$/, "")}/meta`, {
        headers: { accept: "application/vnd.github+json", "user-agent": "signalbox" },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (!response.ok) throw new Error(`GET /meta returned ${response.status}`);
      networks = parseNetworks(metaSchema.parse(await response.json()).hooks);
      failures = 0;
      nextAttempt = now() + FRESH_MS;
    } catch (error) {
      nextAttempt = now() + Math.min(FRESH_MS, RETRY_MS * 2 ** failures);
      failures += 1;
      onError(error);
    }
  };
  const refresh = (): Promise<void> => {
    if (pendingRefresh) return pendingRefresh;
    if (now() < nextAttempt) return Promise.resolve();
    pendingRefresh = fetchRanges().finally(() => {
      pendingRefresh = undefined;
    });
    return pendingRefresh;
  };

  return {
    includes(address) {
      void refresh();
      return isInNetworks(address, networks);
    },
    refresh,
  };
}
