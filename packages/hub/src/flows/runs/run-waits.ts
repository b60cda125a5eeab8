/**
 * What the runs in the memory of this process wait for outside of it. Limits the requests that they have open
 * at each origin. So a server that does not answer holds a bounded number of connections, and the other runs
 * that call it wait for it, without a slot. Each tenant, app and flow has a fair share of an origin.
 *
 * Reports the waits in the store, where every process reads them. A report contains only waits that have lasted
 * a while. So a hub whose servers answer reports nothing, and an idle hub sets no timer.
 */
import { createFairSlots, type FairSlots, type Release } from "../../kernel/lib/fair-slots.ts";
import type { GroupPath } from "../../kernel/lib/shares.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import type { Store } from "../../store.ts";
import { MAX_RUN_WAITS, type Run, type RunWait } from "./model.ts";

type WaitingRun = Pick<Run, "id" | "tenant" | "app" | "flow_id">;
type ReportedWait = RunWait & Pick<WaitingRun, "tenant">;

export interface RunWaits {
  /** Registers that a run waits; the returned function removes the registration. */
  begin(run: WaitingRun, kind: RunWait["kind"], target: string): () => void;
  /**
   * Resolves when a request of the run to the origin may be sent, as `OutboundLimits.enter` does. Registers
   * that the run waits for the limit of the origin, and then, until the request has ended, for the response.
   */
  enterOrigin(run: WaitingRun, origin: string, options: EnterOptions): Promise<Release>;
  /** The origins with open requests. */
  listOrigins(): OriginState[];
  close(): Promise<void>;
}

export interface RunWaitsOptions {
  store: Pick<Store, "saveRunWaits">;
  worker: string;
  /** How many requests runs may have open at one origin. */
  originRequests: number;
  timers: Pick<Timers, "now" | "after">;
  onError(error: unknown): void;
}

const REPORT_EVERY_MS = 2_000;
/** A report without changes is written again after this time, so that readers know that it is current. */
const REFRESH_MS = 20_000;
/** Shorter waits are not reported. */
const MIN_WAIT_MS = 1_000;
const MAX_IDS = 10;

export function createRunWaits(options: RunWaitsOptions): RunWaits {
  const { store, worker, timers, onError } = options;
  const outbound = createOutboundLimits(options.originRequests);
  const waits = new Set<{
    run: WaitingRun;
    kind: RunWait["kind"];
    target: string;
    since: number;
  }>();
  let saved = { at: 0, text: "[]" };
  let cancelTimer: (() => void) | undefined;
  let saving = Promise.resolve();

  /** The largest groups of each tenant. */
  const list = (): ReportedWait[] => {
    const groups = new Map<
      string,
      { group: Omit<ReportedWait, "runs" | "run_ids">; ids: Set<string> }
    >();
    const until = timers.now() - MIN_WAIT_MS;
    for (const { run, kind, target, since } of waits) {
      if (since > until) continue;
      const { id, tenant, app, flow_id } = run;
      const key = JSON.stringify([tenant, flow_id, kind, target]);
      let known = groups.get(key);
      if (!known) {
        known = { group: { tenant, app, flow_id, kind, target, since }, ids: new Set() };
        groups.set(key, known);
      }
      known.group.since = Math.min(known.group.since, since);
      // A set, because several branches of a run can wait for the same thing.
      known.ids.add(id);
    }
    const sorted = [...groups.values()]
      .map(({ group, ids }) => ({ ...group, runs: ids.size, run_ids: [...ids].slice(0, MAX_IDS) }))
      .sort((a, b) => b.runs - a.runs);
    const ofTenants = Map.groupBy(sorted, ({ tenant }) => tenant).values();
    return [...ofTenants].flatMap((ofTenant) => ofTenant.slice(0, MAX_RUN_WAITS + 1));
  };
  const save = async (report: ReportedWait[]): Promise<void> => {
    const at = timers.now();
    const text = JSON.stringify(report);
    if (text === saved.text && (report.length === 0 || at < saved.at + REFRESH_MS)) return;
    await store.saveRunWaits(worker, at, report);
    saved = { at, text };
  };
  const schedule = () => {
    cancelTimer ??= timers.after(REPORT_EVERY_MS, () => {
      saving = save(list())
        .catch(onError)
        .then(() => {
          if (!cancelTimer) return;
          cancelTimer = undefined;
          if (waits.size > 0 || saved.text !== "[]") schedule();
        });
    });
  };

  const begin: RunWaits["begin"] = (run, kind, target) => {
    const wait = { run, kind, target, since: timers.now() };
    waits.add(wait);
    schedule();
    return () => void waits.delete(wait);
  };

  return {
    begin,
    async enterOrigin(run, origin, { signal, onQueued }) {
      const leave = await outbound.enter(origin, [run.tenant, run.app, run.flow_id], {
        signal,
        onQueued() {
          const ends = [begin(run, "limit", origin), onQueued?.()];
          return () => {
            for (const end of ends) end?.();
          };
        },
      });
      const endWait = begin(run, "response", origin);
      return () => {
        endWait();
        leave();
      };
    },
    listOrigins: outbound.list,
    async close() {
      cancelTimer?.();
      cancelTimer = undefined;
      await saving;
      await save([]).catch(onError);
    },
  };
}

interface OutboundLimits {
  /**
   * Resolves when a request to the origin may be sent; the returned function must be called when it has
   * ended. Rejects with the reason of the signal. `onQueued` is called if the request must wait; the
   * function that it returns, when the wait has ended.
   */
  enter(origin: string, path: GroupPath, options: EnterOptions): Promise<Release>;
  /** The origins with open requests. */
  list(): OriginState[];
}

export interface EnterOptions {
  signal: AbortSignal;
  onQueued?: (() => () => void) | undefined;
}

interface OriginState {
  origin: string;
  open: number;
  waiting: { path: GroupPath; count: number }[];
}

export function createOutboundLimits(perOrigin: number): OutboundLimits {
  const origins = new Map<string, FairSlots>();
  const slotsOf = (origin: string): FairSlots => {
    const existing = origins.get(origin);
    if (existing) return existing;
    const slots: FairSlots = createFairSlots({
      capacity: perOrigin,
      onFree() {
        if (slots.shares.free === perOrigin && slots.waiting === 0) origins.delete(origin);
      },
    });
    origins.set(origin, slots);
    return slots;
  };

  return {
    async enter(origin, path, { signal, onQueued }) {
      signal.throwIfAborted();
      const slots = slotsOf(origin);
      const acquired = slots.tryAcquire(path);
      if (acquired) return acquired;
      const onEnd = onQueued?.();
      const { promise, resolve, reject } = Promise.withResolvers<Release>();
      const leave = slots.wait(path, resolve);
      const onAbort = () => {
        leave();
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        return await promise;
      } finally {
        signal.removeEventListener("abort", onAbort);
        onEnd?.();
      }
    },
    list: () =>
      [...origins].map(([origin, slots]) => ({
        origin,
        open: perOrigin - slots.shares.free,
        waiting: slots.listWaiting(),
      })),
  };
}

/**
 * The origin whose limit applies to a URL. It is shown in metrics and in the web UI, so it contains no part
 * of an invalid URL, which could contain a secret.
 */
export const outboundOrigin = (url: string): string => URL.parse(url)?.origin ?? "invalid URL";
