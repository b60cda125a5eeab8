/** The longest task of a page's main thread in CPU time, which does not depend on the load of the machine. */
import type { Browser, Page } from "playwright-core";

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  /** CPU time in microseconds. */
  tdur?: number;
  args?: { name?: string };
}

/** On a quiet machine (`SIGNALBOX_QUIET=1`), and on one whose caches are shared with other tests. */
export const MAX_TASK_MS = process.env.SIGNALBOX_QUIET === "1" ? 100 : 250;

/** Pages whose animations are part of what is measured. */
export const MOVING = { reducedMotion: "no-preference" } as const;

export async function longestTask(page: Page, act: () => Promise<void>): Promise<number> {
  const browser = page.context().browser() as Browser;
  await browser.startTracing(page, {
    categories: ["toplevel", "disabled-by-default-devtools.timeline"],
  });
  await act();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    traceEvents: TraceEvent[];
  };
  const threads = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  const tasks = traceEvents.filter(
    ({ name, pid, tid }) => /RunTask$/.test(name) && threads.has(`${pid} ${tid}`),
  );
  if (tasks.length === 0) throw new Error("The trace has no task of the page.");
  return tasks.reduce((longest, { tdur = 0 }) => Math.max(longest, tdur / 1_000), 0);
}
