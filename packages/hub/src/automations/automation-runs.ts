/** Starts and reads the runs of automations. */
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { Flows } from "../flows/editing/flows.ts";
import type { ToolCalls } from "../flows/editing/tool-calls.ts";
import type { Run, RunQuery, Step, StepPage } from "../flows/runs/model.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import type { Store } from "../store.ts";
import { assertAgent, chooseTrigger } from "./automation-checks.ts";

export interface AutomationRunsOptions {
  store: Pick<Store, "previewRun" | "listRuns" | "listSteps" | "countSteps">;
  flows: Pick<Flows, "get">;
  calls: Pick<ToolCalls, "start">;
  registry: NodeRegistry;
  timers: Pick<Timers, "after">;
}

export function createAutomationRuns(options: AutomationRunsOptions) {
  const { store, flows, calls, registry, timers } = options;
  return {
    /** Starts a run, and returns it when it has ended or `waitMs` have passed. */
    async run(
      tenant: string,
      id: string,
      request: { trigger?: string | undefined; input: JsonObject; waitMs: number },
      signal: AbortSignal,
    ): Promise<Run> {
      const flow = await flows.get(tenant, id);
      assertAgent(flow);
      if (flow.version === null)
        throw new RequestError(
          "invalid",
          "id",
          "The automation is a draft: publish it with AUTOMATION_UPDATE, then run it.",
        );
      const { id: trigger } = chooseTrigger(flow.graph, request.trigger, registry);
      const started = await calls.start({
        tenant,
        flow: id,
        trigger,
        input: request.input,
        onlyActive: false,
      });
      const endedRun = await waitForEnd(started.ended, request.waitMs, signal);
      if (endedRun) return endedRun;
      await started.stored;
      return assertRun(await store.previewRun(tenant, started.id), started.id);
    },

    listRuns: (query: RunQuery): Promise<Run[]> => store.listRuns(query),

    /**
     * Returns the run with its last `limit` steps, and the number of all its steps. With `end`, only the
     * steps with a smaller number count, of which there are `end.count`.
     */
    async getRun(
      tenant: string,
      id: string,
      { limit, end }: { limit: number; end?: { nth: number; count: number } | undefined },
    ): Promise<{ run: Run; steps: Step[]; total: number }> {
      const run = assertRun(await store.previewRun(tenant, id), id);
      const total = end?.count ?? (await store.countSteps(tenant, id));
      const isEarlier = ({ nth }: Step) => end === undefined || nth < end.nth;
      let steps: Step[] = [];
      // The numbers of steps have gaps, so more than `limit` steps may follow this one.
      let after: number | null = Math.max(0, total - limit);
      while (after !== null) {
        const page: StepPage = await store.listSteps(tenant, id, { after });
        steps = [...steps, ...page.items.filter(isEarlier)].slice(-limit);
        after = page.items.every(isEarlier) ? page.next : null;
      }
      return { run, steps, total };
    },
  };

  /** Returns undefined if the run has not ended in time, or the caller has disconnected. */
  async function waitForEnd(
    ended: Promise<Run>,
    ms: number,
    signal: AbortSignal,
  ): Promise<Run | undefined> {
    const stopped = Promise.withResolvers<undefined>();
    const stop = () => stopped.resolve(undefined);
    const cancel = timers.after(ms, stop);
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await Promise.race([ended, stopped.promise]);
    } finally {
      cancel();
      signal.removeEventListener("abort", stop);
    }
  }
}

function assertRun(run: Run | undefined, id: string): Run {
  if (run) return run;
  throw new RequestError("not_found", "run_id", `There is no run ${id.slice(0, 100)}.`);
}
