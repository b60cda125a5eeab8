/**
 * `wait_for_event`: waits for the next matching event. A wait checks one event per tenant at a time, so
 * its memory does not grow with the number of events; concurrent waits share the loaded payloads.
 */

import { parsePath } from "@signalbox/rules/match/path.ts";
import type { Access, Authorizer } from "../../kernel/access/authorizer.ts";
import { findEvictable, ownerOfAccess } from "../../kernel/lib/fair-share.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { createSharedPayloads } from "../../kernel/mcp/shared-payloads.ts";
import type { Feed, Follower } from "../live/feed.ts";
import type { EventRow } from "../model.ts";
import type { Inbox } from "./inbox.ts";
import type { PayloadConditions } from "./payload-reader.ts";

export interface Wait {
  type?: string | undefined;
  repo?: string | undefined;
  filter?: Record<string, string | number | boolean | null> | undefined;
  timeoutMs: number;
  access: Access;
  signal: AbortSignal;
  progress(done: number, total: number, message: string): void;
}

export interface WaitsOptions {
  inbox: Pick<Inbox, "openPayload" | "largeReads">;
  feed: Pick<Feed, "follow">;
  authorizer: Pick<Authorizer, "recheck" | "watch">;
  /** The maximum number of concurrent waits of one token, and in total. */
  maxPerToken?: number;
  maxTotal?: number;
}

export interface Waits {
  /**
   * Returns the first new event that matches; undefined after the timeout or if the client
   * disconnects.
   */
  wait(wait: Wait): Promise<EventRow | undefined>;
  /** Ends all waits; resolves when they have been rejected. */
  close(): Promise<void>;
}

const PROGRESS_MS = 5_000;
/** The delay before an event is checked again, after the workers were busy. */
const BUSY_MS = 200;

interface OpenWait {
  access: Access;
  end(reason: RequestError): void;
  ended: Promise<unknown>;
}

export function createWaits({
  inbox,
  feed,
  authorizer,
  maxPerToken = 100,
  maxTotal = 2_000,
}: WaitsOptions): Waits {
  /** The open waits of each token. */
  const open = new Map<string, Set<OpenWait>>();
  const payloads = createSharedPayloads(inbox.openPayload);
  let isClosed = false;

  async function follow(
    wait: Wait,
    { promise, resolve, reject }: PromiseWithResolvers<EventRow | undefined>,
  ): Promise<EventRow | undefined> {
    const conditions = conditionsOf(wait.filter);
    const followers = new Set<Follower>();
    let hasEnded = false;
    /** An event that cannot be read in time does not end the wait for others. */
    const matches = async (event: EventRow): Promise<boolean> => {
      try {
        return await inbox.largeReads(event, async () => {
          const payload = await payloads.read(event);
          return payload.matches(conditions);
        });
      } catch (error) {
        if (!(error instanceof RequestError)) throw error;
        if (hasEnded || error.code !== "busy") return false;
      }
      await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
      return matches(event);
    };

    /** Each tenant has its own follower, so that a busy tenant does not delay the others. */
    const followTenant = async (tenant: string) => {
      let isChecking = false;
      const check = async (event: EventRow) => {
        isChecking = true;
        if (await matches(event)) return resolve(event);
        isChecking = false;
        follower?.resume();
      };
      let follower: Follower | undefined;
      follower = await feed.follow({
        tenants: [tenant],
        after: new Map(),
        filter: { type: wait.type, repo: wait.repo },
        sink: {
          event(event) {
            if (conditions.length === 0) resolve(event);
            else check(event).catch(reject);
          },
          truncated: () => {},
          isFull: () => hasEnded || isChecking,
        },
      });
      if (hasEnded) return follower.stop();
      followers.add(follower);
      follower.resume(); // a check that ended before the follower was assigned did not resume it
    };

    const started = performance.now();
    const timer = setTimeout(resolve, wait.timeoutMs, undefined);
    const progressTimer = setInterval(() => {
      const seconds = Math.round((performance.now() - started) / 1_000);
      wait.progress(seconds, wait.timeoutMs / 1_000, "still waiting");
    }, PROGRESS_MS);
    const stopWatching = authorizer.watch(wait.access, () => reject(noLongerValid()));
    const onAbort = () => resolve(undefined);
    wait.signal.addEventListener("abort", onAbort);
    if (wait.signal.aborted) onAbort();
    try {
      for (const tenant of wait.access.tenants) followTenant(tenant).catch(reject);
      const event = await promise;
      if (event && !(await authorizer.recheck(wait.access))) throw noLongerValid();
      return event;
    } finally {
      hasEnded = true;
      clearTimeout(timer);
      clearInterval(progressTimer);
      stopWatching();
      wait.signal.removeEventListener("abort", onAbort);
      for (const follower of followers) follower.stop();
    }
  }

  /** If the total limit is reached, ends a wait of the tenant with the most waits, or throws. */
  function reserve(access: Access): void {
    const all = [...open.values()].flatMap((waits) => [...waits]);
    if (all.length < maxTotal) return;
    const evicted = findEvictable(all, {
      owner: ownerOfAccess(access),
      ownerOf: (wait) => ownerOfAccess(wait.access),
      isIdle: () => false,
    });
    if (!evicted) throw tooMany(`the hub has ${maxTotal} concurrent waits, which is the limit`);
    open.get(evicted.access.token)?.delete(evicted);
    evicted.end(tooMany("the wait was ended, because other tenants have fewer waits"));
  }

  return {
    async wait(wait) {
      const { token } = wait.access;
      const ofToken = open.get(token) ?? new Set();
      if (isClosed) throw stopping();
      if (ofToken.size >= maxPerToken)
        throw new RequestError(
          "busy",
          "wait_for_event",
          `this token has ${maxPerToken} concurrent waits, which is the limit; wait until one ends`,
        );
      reserve(wait.access);
      const match = Promise.withResolvers<EventRow | undefined>();
      const ended = follow(wait, match);
      const openWait: OpenWait = {
        access: wait.access,
        end: match.reject,
        ended: ended.catch(() => {}),
      };
      open.set(token, ofToken.add(openWait));
      try {
        return await ended;
      } finally {
        ofToken.delete(openWait);
        if (ofToken.size === 0) open.delete(token);
        if (open.size === 0) payloads.clear();
      }
    },
    async close() {
      isClosed = true;
      const all = [...open.values()].flatMap((waits) => [...waits]);
      if (all.length === 0) return;
      for (const { end } of all) end(stopping());
      await Promise.all(all.map(({ ended }) => ended));
      // The callers send their responses in a later task.
      await new Promise((resolve) => setTimeout(resolve));
    },
  };
}

const tooMany = (message: string) =>
  new RequestError("busy", "wait_for_event", `${message}; try again later`);
const noLongerValid = () => new RequestError("forbidden", "token", "is no longer valid");
const stopping = () =>
  new RequestError("busy", "wait_for_event", "the hub is stopping; try again later");

function conditionsOf(filter: NonNullable<Wait["filter"]> = {}): PayloadConditions["conditions"] {
  const conditions = Object.entries(filter).map(([path, value]) => ({ path, value }));
  const invalid = conditions.find(({ path }) => !parsePath(path));
  if (invalid)
    throw new RequestError(
      "invalid",
      "filter",
      `"${invalid.path.slice(0, 100)}" is not a path such as issue.title`,
    );
  return conditions;
}
