import type { Inbox } from "../inbox/inbox.ts";
import type { Json } from "../ingest/source.ts";
import { Fault } from "../lib/fault.ts";
import { type Path, parsePath, valuesAt } from "../match/path.ts";
import type { EventRow } from "../store/store.ts";
import type { Feed, Follower } from "../stream/feed.ts";
import type { Access } from "../tenants/access.ts";

type Scalar = string | number | boolean | null;

export interface Wait {
  type?: string | undefined;
  repo?: string | undefined;
  filter?: Record<string, Scalar> | undefined;
  timeoutMs: number;
  inbox: Inbox;
  access: Access;
  feed: Feed;
  signal: AbortSignal;
  progress(done: number, total: number, message: string): void;
}

const PROGRESS_MS = 5_000;

/** The first event from now on that fits; undefined when time is up or nobody waits any more. */
export async function waitForEvent(wait: Wait): Promise<EventRow | undefined> {
  const conditions = Object.entries(wait.filter ?? {}).map(([text, value]) => {
    const path = parsePath(text);
    if (!path) throw new Fault("invalid", "filter", `"${text}" is not a path such as issue.title`);
    return { path, value };
  });
  let follower: Follower | undefined;
  const started = Date.now();
  const { promise, resolve, reject } = Promise.withResolvers<EventRow | undefined>();
  const timer = setTimeout(resolve, wait.timeoutMs, undefined);
  const ticking = setInterval(() => {
    const seconds = Math.round((Date.now() - started) / 1_000);
    wait.progress(seconds, wait.timeoutMs / 1_000, "still waiting");
  }, PROGRESS_MS);
  const giveUp = () => resolve(undefined);
  wait.signal.addEventListener("abort", giveUp);
  try {
    // One after another: the first that fits is the first that came.
    let checked = Promise.resolve();
    follower = await wait.feed.follow({
      tenants: wait.access.tenants,
      after: new Map(),
      filter: { type: wait.type, repo: wait.repo },
      sink: {
        event(event) {
          checked = checked
            .then(async () => {
              if (await fits(event, conditions, wait)) resolve(event);
            })
            .catch(reject);
        },
        truncated: () => {},
        isFull: () => false,
      },
    });
    return await promise;
  } finally {
    clearTimeout(timer);
    clearInterval(ticking);
    wait.signal.removeEventListener("abort", giveUp);
    follower?.stop();
  }
}

async function fits(
  event: EventRow,
  conditions: readonly { path: Path; value: Scalar }[],
  { inbox, access }: Wait,
): Promise<boolean> {
  if (conditions.length === 0) return true;
  const { payload } = await inbox.get(access.tenants, event.id);
  return conditions.every(({ path, value }) =>
    valuesAt(payload as Json, path).some((found) => found === value),
  );
}
