/**
 * From node to node. Ready nodes run side by side. The end of one and the beginning of the next are
 * recorded together, before the next begins.
 */
import { errorOutput } from "@signalbox/rules/flows/errors.ts";
import { ITEM_PORT } from "@signalbox/rules/flows/node-type.ts";
import type { Json } from "@signalbox/rules/json.ts";
import type { RunError } from "../store/run-store.ts";
import { splitParameters } from "./attempt.ts";
import type { Course, Site } from "./course.ts";
import { advance, type Frame, resultOf } from "./frame.ts";
import { runNode } from "./run-node.ts";
import {
  CALLED_OFF,
  Failure,
  Over,
  restOf,
  running,
  type StepRecord,
  skipped,
  triedIn,
} from "./step-records.ts";

/** A frame as far as it has come, by what is on record. */
export function openFrame(
  { ledger }: Course,
  item: string,
  nodes: ReadonlySet<string>,
  outside: Frame["outside"] = () => undefined,
): Frame {
  const frame: Frame = { item, nodes, states: new Map(), started: new Set(), outside };
  for (const id of nodes) {
    const last = ledger
      .earlier(item, id)
      .findLast(({ status }) => status === "done" || status === "skipped");
    if (last?.status === "skipped") frame.states.set(id, { status: "skipped" });
    else if (last)
      frame.states.set(id, { status: "done", port: last.port ?? "", output: last.output });
  }
  return frame;
}

/** `before` is recorded with the first step. Answers with the result, and what is left to record. */
export async function walkFrame(
  course: Course,
  site: Site,
  before: readonly StepRecord[],
): Promise<{ steps: StepRecord[]; output: Json }> {
  const { ledger, naps, layout, now } = course;
  const { frame, signal } = site;
  const ended: StepRecord[] = [...before];
  let open = 0;
  let failure: { error: unknown } | undefined;
  let news = Promise.withResolvers<void>();
  const begin = (id: string) =>
    naps
      .work(() => runNode(course, site, id, (...loop) => goRounds(course, ...loop)))
      .then(
        (left) => {
          open -= 1;
          ended.push(...left);
        },
        (error: unknown) => {
          failure ??= { error };
        },
      )
      .then(() => news.resolve());

  for (;;) {
    news = Promise.withResolvers();
    if (failure) throw withSteps(failure.error, ended);
    if (signal.aborted) throw new Over();
    const next = advance(layout, frame);
    open += next.ready.length;
    const steps = [
      ...ended.splice(0),
      ...next.skipped.map((id) => skipped(id, frame.item, now())),
      ...next.ready.flatMap((id) => beginning(course, frame, id)),
    ];
    if (open === 0) {
      const isResult = (id: string) => course.definition(id)?.kind === "result";
      return { steps, output: resultOf(layout, frame, (id) => course.node(id).slug, isResult) };
    }
    if (steps.length > 0) await ledger.write(steps);
    for (const id of next.ready) void begin(id);
    await naps.away(() => news.promise);
  }
}

/** What was done beside the step that failed is recorded with it. */
const withSteps = (error: unknown, steps: readonly StepRecord[]): unknown =>
  error instanceof Failure ? new Failure(error.error, [...steps, ...error.steps]) : error;

/** What waits already goes on waiting, as it is recorded. */
function beginning({ ledger, now }: Course, { item }: Frame, id: string): StepRecord[] {
  const records = ledger.earlier(item, id);
  if (restOf(records)) return [];
  const { attempt } = triedIn(records);
  return [running({ node_id: id, item, attempt, started_at: now() })];
}

/** What a round has failed with before the run was taken: it is not gone again. */
function failureOf({ ledger }: Course, { item, nodes }: Frame): RunError | undefined {
  for (const id of nodes) {
    const records = ledger.earlier(item, id);
    const last = records.at(-1);
    if (last?.status === "failed" && last.error && !restOf(records)) return last.error;
  }
  return undefined;
}

/**
 * Each round is a walk of its own through the loop's body. When one fails, the others are left; or
 * where the loop is to go on, its error stands in place of its result.
 */
async function goRounds(
  course: Course,
  outer: Site,
  loop: string,
  { items, atOnce }: { items: readonly Json[]; atOnce: number },
): Promise<Json[]> {
  const { ledger, naps, layout } = course;
  const body = layout.bodies.get(loop) ?? new Set<string>();
  const above = outer.frame.item && `${outer.frame.item}/`;
  const results: Json[] = items.map(() => null);
  const leave = new AbortController();
  const onAbort = () => leave.abort(outer.signal.reason);
  outer.signal.addEventListener("abort", onAbort, { once: true });
  if (outer.signal.aborted) onAbort();

  let next = 0;
  const goesOn = splitParameters(course.node(loop)).settings.continueOnError === true;
  const goRound = async (): Promise<void> => {
    let steps: StepRecord[] = [];
    for (let index = next++; index < items.length; index = next++) {
      const item = items[index] as Json;
      const given = { status: "done", port: ITEM_PORT, output: item } as const;
      const outside = (id: string) => (id === loop ? given : outer.frame.states.get(id));
      const name = `${above}${course.node(loop).slug}:${index}`;
      const frame = openFrame(course, name, body, outside);
      // What else the round has under way ends with it.
      const failed = goesOn ? new AbortController() : undefined;
      const signal = failed ? AbortSignal.any([leave.signal, failed.signal]) : leave.signal;
      const site = { frame, locals: { item, index }, outer, signal };
      const before = goesOn ? failureOf(course, frame) : undefined;
      if (before) {
        results[index] = errorOutput(before);
        continue;
      }
      try {
        // The end of one round is recorded with the beginning of the next.
        ({ steps, output: results[index] = null } = await walkFrame(course, site, steps));
      } catch (error) {
        if (!failed || !(error instanceof Failure)) throw error;
        failed.abort(CALLED_OFF);
        results[index] = errorOutput(error.error);
        steps = [...error.steps];
      }
    }
    if (steps.length > 0) await ledger.write(steps);
  };
  try {
    const lanes = Math.max(1, Math.min(atOnce, items.length));
    await naps.away(() => Promise.all(Array.from({ length: lanes }, () => naps.work(goRound))));
    return results;
  } catch (error) {
    leave.abort(error instanceof Failure ? CALLED_OFF : undefined);
    throw error;
  } finally {
    outer.signal.removeEventListener("abort", onAbort);
  }
}
