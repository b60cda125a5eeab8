/**
 * Looks up installations at GitHub that the registry does not know. Concurrent webhooks of one
 * installation share a request. Results other than a found installation are cached for a short time,
 * so that webhooks of an unknown installation, or an outage of GitHub, do not cause a request each.
 */
import { BoundedMap } from "../kernel/lib/bounded-map.ts";
import type { Log } from "../kernel/lib/log.ts";
import type { GithubApp } from "./github-app.ts";

export interface FoundInstallation {
  account: { id: string; login: string | null };
  isSuspended: boolean;
}

type NotFound = "unknown" | "unavailable";
export type LookUpInstallation = (id: string) => Promise<FoundInstallation | NotFound>;

/** Looks up one installation with GitHub's API. */
export const requestInstallation =
  (app: Pick<GithubApp, "getInstallation">, log: Pick<Log, "warn">): LookUpInstallation =>
  async (id) => {
    const answer = await app.getInstallation(id);
    if (answer.outcome === "ok") {
      const { account, isSuspended } = answer.value;
      return { account: { id: account.id, login: account.login || null }, isSuspended };
    }
    if (answer.outcome === "not_found") return "unknown";
    log.warn({ installation: id }, `an installation could not be looked up: ${answer.message}`);
    return "unavailable";
  };

const CACHE_MS: Record<NotFound, number> = { unknown: 60_000, unavailable: 5_000 };
const MAX_CACHED = 10_000;

export function createLookUpInstallation(
  request: LookUpInstallation,
  monotonic: () => number,
): LookUpInstallation {
  const pending = new Map<string, Promise<FoundInstallation | NotFound>>();
  const misses = new BoundedMap<string, { result: NotFound; until: number }>(MAX_CACHED);

  const start = async (id: string) => {
    try {
      const result = await request(id);
      if (typeof result === "string")
        misses.set(id, { result, until: monotonic() + CACHE_MS[result] });
      return result;
    } finally {
      pending.delete(id);
    }
  };

  return async (id) => {
    const miss = misses.get(id);
    if (miss && miss.until > monotonic()) return miss.result;
    const started = pending.get(id) ?? start(id);
    pending.set(id, started);
    return started;
  };
}
