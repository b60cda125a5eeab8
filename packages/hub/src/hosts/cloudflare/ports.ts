/** The ports of the hub that need little code on Cloudflare: log, files of the web UI, metrics and group commits. */

import type { Fetcher } from "cloudflare:workers";
import type { Log } from "../../kernel/lib/log.ts";
import type { MaybePromise } from "../../kernel/lib/maybe-promise.ts";
import type { Metrics } from "../../kernel/metrics.ts";
import type { ReadWebFile } from "../../web-ui/web-ui.ts";
import { serializeError } from "../serialize-error.ts";

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];

/** JSON lines on the console, which `wrangler tail` and Workers Logs show. */
export function createConsoleLog(level: string): Log {
  const write = (name: "info" | "warn" | "error") => (facts: object, msg: string) => {
    if (LEVELS.indexOf(name) < LEVELS.indexOf(level)) return;
    const err = "err" in facts ? { err: serializeError(facts.err) } : {};
    console[name](JSON.stringify({ level: name, ...facts, ...err, msg }));
  };
  return { info: write("info"), warn: write("warn"), error: write("error") };
}

/** Reads the files of the web UI from the Worker's static assets. Cloudflare compresses the responses. */
export const createReadWebFile =
  (assets: Fetcher): ReadWebFile =>
  async (path) => {
    const response = await assets.fetch(new URL(path, "https://assets.invalid"));
    return response.ok ? { body: new Uint8Array(await response.arrayBuffer()) } : undefined;
  };

/**
 * Schedules the group commits of an object. A timer lets concurrent requests share a commit, but costs
 * about as much as a small commit. A single request is therefore committed without a timer.
 */
interface CommitSchedule {
  /** Runs `work`, which handles one request. The request counts as active until `work` has ended. */
  receive<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Runs a group commit: after a timer if several requests are active, otherwise in a microtask. */
  defer(work: () => void): void;
}

export function createCommitSchedule(deferByTimer: (work: () => void) => void): CommitSchedule {
  let activeRequests = 0;
  return {
    async receive(work) {
      activeRequests += 1;
      try {
        return await work();
      } finally {
        activeRequests -= 1;
      }
    },
    defer: (work) => (activeRequests > 1 ? deferByTimer(work) : queueMicrotask(work)),
  };
}

/**
 * The metrics of one object in Prometheus' text format, with the same names as on the Node host. They
 * start at 0 when the object starts. Instead of a histogram there are only its sum and its count.
 */
export function createMetrics(): Metrics {
  const values = new Map<string, number>();
  const gauges: (() => MaybePromise<[string, number][]>)[] = [];
  const add = (key: string, amount: number) => values.set(key, (values.get(key) ?? 0) + amount);
  return {
    counter({ name, initial = [] }) {
      for (const labels of initial) add(keyOf(name, labels), 0);
      return (labels, amount = 1) => add(keyOf(name, labels), amount);
    },
    histogram:
      ({ name }) =>
      (labels, value) => {
        add(keyOf(`${name}_sum`, labels), value);
        add(keyOf(`${name}_count`, labels), 1);
      },
    gauge({ name, labels = [], read }) {
      gauges.push(async () => {
        try {
          return [...(await read())].map(([values, value]) => [keyOf(name, values), value]);
        } catch {
          return labels.length === 0 ? [[name, Number.NaN]] : [];
        }
      });
    },
    async text() {
      const lines = [...values, ...(await Promise.all(gauges.map((read) => read()))).flat()];
      return lines.map(([key, value]) => `${key} ${value}\n`).join("");
    },
    contentType: "text/plain; version=0.0.4; charset=utf-8",
  };
}

function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  const list = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return list.length > 0 ? `${name}{${list.join(",")}}` : name;
}
