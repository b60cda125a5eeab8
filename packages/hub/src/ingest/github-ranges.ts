/**
 * The networks that GitHub sends webhooks from, as its `GET /meta` publishes them. A snapshot ships
 * with the hub, so there is always a list; it is renewed in the background and no request ever waits
 * for that. When GitHub does not answer, the last list stays, and the next try waits longer.
 */
import { z } from "zod";
import { isInNetworks, parseNetworks } from "./addresses.ts";
import snapshot from "./github-ranges.json" with { type: "json" };

export interface GithubRangesOptions {
  apiUrl: string;
  fetch: typeof fetch;
  now: () => number;
  onError?: (error: unknown) => void;
}

const FRESH_MS = 60 * 60 * 1000;
const RETRY_MS = 60 * 1000;
const TIMEOUT_MS = 10_000;

const metaSchema = z.object({ hooks: z.array(z.string()).min(1) });

export interface GithubRanges {
  includes(address: string): boolean;
  /** Resolves when a renewal that is due has ended, well or not. */
  refresh(): Promise<void>;
}

export function createGithubRanges({
  apiUrl,
  fetch,
  now,
  onError = () => {},
}: GithubRangesOptions): GithubRanges {
  let networks = parseNetworks(snapshot.hooks);
  let nextTry = 0;
  let failures = 0;
  let running: Promise<void> | undefined;

  const renew = async () => {
    try {
      const response = await fetch(`${apiUrl.replace(/\/$/, "")}/meta`, {
        headers: { accept: "application/vnd.github+json", "user-agent": "signalbox" },
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      if (!response.ok) throw new Error(`GET /meta answered ${response.status}`);
      networks = parseNetworks(metaSchema.parse(await response.json()).hooks);
      failures = 0;
      nextTry = now() + FRESH_MS;
    } catch (error) {
      nextTry = now() + Math.min(FRESH_MS, RETRY_MS * 2 ** failures);
      failures += 1;
      onError(error);
    }
  };
  const refresh = (): Promise<void> => {
    if (running) return running;
    if (now() < nextTry) return Promise.resolve();
    running = renew().finally(() => {
      running = undefined;
    });
    return running;
  };

  return {
    includes(address) {
      void refresh();
      return isInNetworks(address, networks);
    },
    refresh,
  };
}
