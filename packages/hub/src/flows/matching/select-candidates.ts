/**
 * Selects the triggers with which an event is compared, by the index of the triggers that listen to its
 * source and type. The keys of a large payload are read in a job.
 */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import {
  createTriggerIndex,
  type TriggerIndex,
  valuesIn,
} from "@signalbox/rules/match/trigger-index.ts";
import { createTimeSlice } from "../../kernel/lib/yield-to-event-loop.ts";
import type { StoredTrigger } from "../model.ts";
import {
  type ComparedEvent,
  type CompareOptions,
  createBudget,
  readData,
  readKeys,
} from "./compare-triggers.ts";
import { MAX_MISSES } from "./kept-verdicts.ts";

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
 * that all verdicts can be stored.
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
