/** Measures the longest task of a page's main thread, in CPU time, because other processes do not affect it. */
import type { Browser, Page } from "playwright-core";

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  /** CPU time in microseconds. */
  tdur?: number;
  args?: { name?: string };
}

/** The limit is lower on a quiet machine. On others, tests that share its caches increase the CPU time. */
export const MAX_TASK_MS = process.env.SIGNALBOX_QUIET === "1" ? 100 : 250;

/** Options of pages whose animations are measured too. */
export const WITH_ANIMATIONS = { reducedMotion: "no-preference" } as const;

/** Returns the duration of the longest task during `interact`, in milliseconds of CPU time. */
export async function measureLongestTask(
  page: Page,
  interact: () => Promise<void>,
): Promise<number> {
  const browser = page.context().browser() as Browser;
  await browser.startTracing(page, {
    categories: ["toplevel", "disabled-by-default-devtools.timeline"],
  });
  await interact();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  const mainThreads = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = traceEvents.filter(
    ({ name, pid, tid }) => /RunTask$/.test(name) && mainThreads.has(`${pid} ${tid}`),
  );
  if (tasks.length === 0) throw new Error("The trace has no task of the page.");
  return tasks.reduce((longest, { tdur = 0 }) => Math.max(longest, tdur / 1_000), 0);
}
