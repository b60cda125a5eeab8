/**
 * Walks one run to its end. Each step is on disk before anything that builds on it starts. So whoever
 * takes the run over after a crash finds what is done, and begins with the first step that is not.
 */
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import { graphOf } from "@signalbox/rules/flows/graph.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import { ITEM_PORT, type NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { ClaimedRun, Run, RunProgress, Step } from "../store/run-store.ts";
import { splitParameters } from "./attempt.ts";
import { type Course, firstPort, type NodeReach } from "./course.ts";
import { layOut } from "./frame.ts";
import { createLedger } from "./ledger.ts";
import { createNaps, LONGEST_TIMER_MS } from "./naps.ts";
import type { SaveProgress } from "./progress-commit.ts";
import { CALLED_OFF, done, Failure, HANDED_ON, Over, type StepRecord } from "./step-records.ts";
import { openFrame, walkFrame } from "./walk-frame.ts";

export interface ExecuteOptions {
  claimed: ClaimedRun;
  registry: NodeRegistry;
  reach: NodeReach;
  save: SaveProgress;
  secrets: (tenant: string, names: readonly string[]) => Promise<Record<string, string>>;
  /** What started the run, where that is too large to lie in it. */
  loadInput: (run: Run) => Promise<JsonObject>;
  now: () => number;
  /** Aborted with `"cancelled"`, or with `"stopping"` when somebody else shall go on. */
  signal: AbortSignal;
  onStep?: (step: Step) => void;
  takePlace: Course["takePlace"];
  stepTimeoutMs: number;
  /** Of a stretch: what a run spends waiting in the store does not count. */
  runTimeoutMs: number;
  /** A run that has to wait for longer gives its place to others. */
  parkAfterMs: number;
}

/** `parked`: it waits in the store; `lost`: somebody else has it; `stopped`: somebody else shall have it. */
export type Executed = "ended" | "parked" | "lost" | "stopped";

type Next = NonNullable<RunProgress["next"]>;

/** What a walk has come to, and the last that is to be recorded of it. */
interface Ending {
  steps: readonly StepRecord[];
  next: Next;
}

/** The store's trouble is thrown: the lease ends then, and somebody takes the run over. */
export async function executeRun(options: ExecuteOptions): Promise<Executed> {
  const { claimed, now, signal } = options;
  const interrupted = Promise.withResolvers<Next | "stopped">();
  const over = new AbortController();
  const ledger = createLedger({ ...options, onStep: options.onStep });
  const naps = createNaps({
    now,
    parkAfterMs: options.parkAfterMs,
    park: (due_at) => interrupted.resolve({ status: "waiting", due_at }),
  });
  const course: Course = {
    ...courseOf(options),
    trigger: {},
    ledger,
    naps,
  };
  const onAbort = () => {
    if (signal.reason === "cancelled") return interrupted.resolve({ status: "cancelled" });
    interrupted.resolve("stopped");
    // At once: what fails because all else stops must not count.
    over.abort(HANDED_ON);
  };
  signal.addEventListener("abort", onAbort, { once: true });
  const deadline = setDeadline(options, course, (next) => interrupted.resolve(next));

  try {
    if (signal.aborted) return "stopped";
    if (claimed.run.cancel_asked) {
      const outcome = await ledger.close([], { status: "cancelled" });
      return outcome === "lost" ? "lost" : "ended";
    }
    const walked = naps.work(() => walk(course, options, over.signal));
    walked.catch(() => {}); // where it was interrupted, nobody asks
    const ending = await Promise.race([
      interrupted.promise.then((next) => (next === "stopped" ? next : { steps: [], next })),
      walked,
    ]);
    if (ending === "stopped") return "stopped";
    const { status } = ending.next;
    if ((await ledger.close(ending.steps, ending.next)) === "lost") return "lost";
    if (status === "waiting" || status === "queued") return "parked";
    over.abort(CALLED_OFF);
    return "ended";
  } catch (error) {
    if (error instanceof Over) return "lost";
    throw error;
  } finally {
    over.abort(HANDED_ON);
    naps.close();
    clearTimeout(deadline);
    signal.removeEventListener("abort", onAbort);
  }
}

function courseOf(options: ExecuteOptions) {
  const { claimed, registry, secrets, reach, now, stepTimeoutMs, takePlace } = options;
  const { run, graph } = claimed;
  const nodes = new Map(graph.nodes.map((node) => [node.id, node]));
  const node = (id: string) => nodes.get(id) as FlowNode;
  const definition = (id: string) => registry.get(nodes.get(id)?.type ?? "");
  const isLoop = (id: string) => (definition(id)?.locals[ITEM_PORT] ?? []).length > 0;
  const layout = layOut(graphOf(graph), run.trigger_node, isLoop);
  const open = (names: readonly string[]) => secrets(run.tenant, names);
  return {
    run,
    layout,
    node,
    definition,
    reach,
    now,
    stepTimeoutMs,
    takePlace,
    secrets: open,
    flowSecrets: flowSecretsOf(graph.nodes, open),
  };
}

/** Opened once. One that is missing is missed by the step that needs it. */
function flowSecretsOf(nodes: readonly FlowNode[], open: Course["secrets"]): Course["flowSecrets"] {
  const names = new Set(nodes.flatMap((node) => splitParameters(node).secrets));
  if (names.size === 0) return undefined;
  const openEach = () =>
    Promise.all(
      [...names].map((name) =>
        open([name]).then(Object.values<string>, (error: unknown) => {
          if (error instanceof Permanent) return [];
          throw error;
        }),
      ),
    );
  let opened: Promise<readonly string[]> | undefined;
  return () => {
    opened ??= openEach().then((values) => values.flat());
    opened.catch(() => {
      opened = undefined;
    });
    return opened;
  };
}

function setDeadline(
  { claimed: { run, steps }, now, runTimeoutMs }: ExecuteOptions,
  { node }: Course,
  end: (next: Next) => void,
) {
  const trigger = node(run.trigger_node);
  const limit = (trigger && splitParameters(trigger).settings.timeoutMs) ?? runTimeoutMs;
  // Since it was last due: who had it before may have begun to work on it.
  const began = steps.reduce(
    (first, { started_at }) =>
      started_at < (run.due_at ?? 0) ? first : Math.min(first, started_at),
    now(),
  );
  const error = { code: "run_timeout", message: `The run took longer than ${limit} ms.` };
  const left = Math.max(0, began + limit - now());
  return setTimeout(() => end({ status: "failed", error }), Math.min(LONGEST_TIMER_MS, left));
}

async function walk(
  course: Course,
  { loadInput }: ExecuteOptions,
  signal: AbortSignal,
): Promise<Ending> {
  const { run, layout, now } = course;
  try {
    const trigger = course.node(run.trigger_node) as FlowNode | undefined;
    if (!trigger)
      throw new Failure({
        code: "no_trigger",
        message: "The flow no longer has the node that starts it.",
      });
    course.trigger = await loadInput(run).catch((error: unknown) => {
      if (!(error instanceof Permanent)) throw error;
      throw new Failure({ code: error.code, message: error.message });
    });
    const frame = openFrame(course, "", layout.main);
    const port = firstPort(course, trigger.id);
    const first: StepRecord[] = [];
    if (!frame.states.has(trigger.id)) {
      const place = { node_id: trigger.id, item: "", attempt: 1, started_at: now() };
      // An event lies in the log; here it is enough to know which one.
      const output = run.event_id === undefined ? course.trigger : { event_id: run.event_id };
      first.push(done(place, { port, input: null, output }, now()));
    }
    frame.states.set(trigger.id, { status: "done", port, output: course.trigger });
    const site = { frame, locals: {}, outer: undefined, signal };
    const { steps, output } = await walkFrame(course, site, first);
    return { steps, next: { status: "succeeded", output } };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { steps: error.steps, next: { status: "failed", error: error.error } };
  }
}
