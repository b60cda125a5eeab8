/**
 * Selects the triggers that can match an event, by their index, and compares the event with them. A small
 * payload is compared in this process, for `BUDGET_MS`. A large payload is compared in a job, so that no
 * event blocks the event loop. So are the triggers for which the budget does not suffice.
 */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { laneKey } from "@signalbox/rules/match/lane-key.ts";
import {
  type MatchBudget,
  type MatchTrigger,
  matchTriggers,
  type Reason,
  type Verdict,
} from "@signalbox/rules/match/match-trigger.ts";
import {
  createTriggerIndex,
  type TriggerIndex,
  valuesIn,
} from "@signalbox/rules/match/trigger-index.ts";
import type { NewEvent } from "../../events/model.ts";
import { readPayload } from "../../events/sources/read-payload.ts";
import { createTimeSlice } from "../../kernel/lib/yield-to-event-loop.ts";
import type { StoredTrigger } from "../model.ts";
import { keysOf, type ReadKey } from "../runs/lanes.ts";
import { evaluateFilters, evaluateUnlessPaused, type FilterOptions } from "./evaluate-filters.ts";
import type { MatchRequest, MatchResult } from "./match-job.ts";
import { MAX_MISSES } from "./plans.ts";

export interface ComparedEvent {
  tenant: string;
  event: NewEvent;
  /** The payload, if it has already been parsed. */
  data?: Json | undefined;
}

export interface TriggerMatch extends Verdict {
  /** Reads the keys of the trigger's lanes from the event. */
  readKey: ReadKey;
  /** The end of the pause of the trigger's filter, if it was not evaluated because of it. */
  pausedUntil?: number | undefined;
}

export type CompareOptions = Omit<FilterOptions, "onPaused" | "app">;

const BUDGET_MS = 10;
/**
 * Comparing up to this many bytes takes less than the budget, so the clock is not read. On a busy
 * machine, the clock could exceed the budget although the process has done no work.
 */
const UNTIMED_BYTES = 200_000;
const JOB_TIMEOUT_MS = 10_000;

/** Returns a verdict for each trigger. The triggers and the event have the same tenant. */
export async function compareTriggers(
  { tenant, event, data }: ComparedEvent,
  triggers: readonly StoredTrigger[],
  options: CompareOptions,
): Promise<TriggerMatch[]> {
  const bytes = event.body.byteLength;
  if (bytes > LARGE_BYTES) return compareInJob(tenant, event, triggers, options);
  const parsedData = readData({ event, data });
  const pauses = new Map<string, number>();
  const onPaused = (filter: string, until: number) => void pauses.set(filter, until);
  const verdicts = await matchTriggers(
    { ...toMatchEvent(tenant, event), data: parsedData },
    triggers.map((trigger) => toMatchTrigger(tenant, trigger)),
    {
      evaluateFilters: evaluateFilters({ ...options, onPaused, app: triggers[0]?.app }, tenant),
      budget: createBudget(bytes, options.now),
    },
  );
  const readKey: ReadKey = (key) => laneKey(parsedData, key);
  const matches = verdicts.map((verdict, index): TriggerMatch => {
    // If another condition fails, the filter is not evaluated.
    const isUndecided = !verdict.matched && verdict.reasons.at(-1)?.on === "filter";
    const filter = triggers[index]?.config.filter as string | undefined;
    return { ...verdict, readKey, pausedUntil: isUndecided ? pauses.get(filter ?? "") : undefined };
  });
  // `matchTriggers` stops when the budget is spent.
  const remaining = triggers.slice(verdicts.length);
  return remaining.length === 0
    ? matches
    : [...matches, ...(await compareInJob(tenant, event, remaining, options))];
}

/** Returns the payload of a small event. */
const readData = ({ event, data }: Pick<ComparedEvent, "event" | "data">): Json =>
  data === undefined ? readPayload(event.source, event) : data;

function createBudget(bytes: number, now: () => number): MatchBudget {
  const end = now() + BUDGET_MS;
  let compared = 0;
  return {
    bytes,
    isSpent() {
      compared += bytes;
      return compared > UNTIMED_BYTES && now() > end;
    },
  };
}

async function compareInJob(
  tenant: string,
  event: NewEvent,
  triggers: readonly StoredTrigger[],
  options: CompareOptions,
): Promise<TriggerMatch[]> {
  const expressions = triggers.map((trigger) => {
    const request: MatchRequest = {
      trigger: toMatchTrigger(tenant, trigger),
      keys: keysOf(trigger),
    };
    return JSON.stringify(request);
  });
  const pauses = new Map<string, number>();
  const onPaused = (expression: string, until: number) => void pauses.set(expression, until);
  const app = triggers[0]?.app;
  const results = await runMatchJob(tenant, event, expressions, { ...options, onPaused, app });
  return results.map((result, index) =>
    "problem" in result
      ? {
          matched: false,
          reasons: [notComparedReason(result)],
          readKey: () => "",
          pausedUntil: pauses.get(expressions[index] as string),
        }
      : { ...result.verdict, readKey: (key) => result.keys[key] ?? "" },
  );
}

/** Reads the values at paths of a large event, as the keys of lanes: see `laneKey`. */
async function readKeys(
  { tenant, event }: ComparedEvent,
  paths: readonly string[],
  options: CompareOptions,
): Promise<ReadKey> {
  // The verdict is not used: this trigger matches nothing.
  const trigger = { tenant, source: "", isActive: false };
  const request: MatchRequest = { trigger, keys: paths };
  const [result] = await runMatchJob(tenant, event, [JSON.stringify(request)], options);
  return (path) => (result && "keys" in result ? (result.keys[path] ?? "") : "");
}

function runMatchJob(
  tenant: string,
  event: NewEvent,
  expressions: readonly string[],
  options: FilterOptions,
) {
  const { source, content_type, headers, body } = event;
  return evaluateUnlessPaused<MatchResult>(options, tenant, {
    job: "match",
    expressions,
    payload: { source, content_type, headers },
    event: toMatchEvent(tenant, event),
    data: body,
    timeoutMs: JOB_TIMEOUT_MS,
  });
}

const notComparedReason = ({
  problem,
  isOverrun,
}: {
  problem: string;
  isOverrun?: true;
}): Reason => ({
  on: "param",
  holds: false,
  message: `the event could not be compared with the params and the filter: ${problem}`,
  ...(isOverrun && { overrun: true }),
});

const toMatchEvent = (tenant: string, event: NewEvent) => ({
  id: event.id,
  tenant,
  source: event.source,
  sourceId: event.source_id,
  type: event.type,
  receivedAt: event.received_at,
});

const toMatchTrigger = (
  tenant: string,
  { source, type, active, config }: StoredTrigger,
): MatchTrigger => ({
  tenant,
  source: source ?? "",
  type: type ?? undefined,
  params: config.params as JsonObject | undefined,
  filter: config.filter as string | undefined,
  isActive: active,
});

/** So few triggers are compared with a large payload without reading its keys first. */
const MAX_LARGE_COMPARED = 50;

/** Yields to the event loop if there are many triggers. */
export async function indexTriggers(
  triggers: readonly StoredTrigger[],
): Promise<TriggerIndex<StoredTrigger>> {
  const build = createTriggerIndex(
    triggers,
    ({ config }) => config.params as JsonObject | undefined,
  );
  const endSlice = createTimeSlice();
  for (;;) {
    const step = build.next();
    if (step.done) return step.value;
    await endSlice();
  }
}

/**
 * Returns every trigger that can match the event, in the order of the index; all triggers, if they are so few
 * that all verdicts can be stored. The keys of a large payload are read in a job.
 */
export async function selectCandidates(
  compared: ComparedEvent,
  { triggers, paths, candidates }: TriggerIndex<StoredTrigger>,
  options: CompareOptions,
): Promise<readonly StoredTrigger[]> {
  if (triggers.length <= MAX_MISSES || paths.length === 0) return triggers;
  const bytes = compared.event.body.byteLength;
  if (bytes <= LARGE_BYTES) {
    const read = valuesIn(readData(compared));
    const budget = createBudget(bytes, options.now);
    return candidates((...path) => (budget.isSpent() ? undefined : read(...path)));
  }
  if (triggers.length <= MAX_LARGE_COMPARED) return triggers;
  const readKey = await readKeys(compared, paths, options);
  return candidates((path) => parseValues(readKey(path)));
}

/** Undefined if the key is incomplete: long keys are truncated. */
function parseValues(key: string): Json[] | undefined {
  try {
    return JSON.parse(key) as Json[];
  } catch {
    return undefined;
  }
}
