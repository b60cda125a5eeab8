/**
 * Decides whether a trigger fires for an event, with a reason for each condition. Pure: the hub, the
 * preview in the UI and `explain_event` call the same functions.
 */
import type { Json, JsonObject } from "../json.ts";
import type { EvaluateFilters, FilterResult } from "./filter.ts";
import { holds, type Operator } from "./operators.ts";
import { readParam } from "./param.ts";
import { parsePath, valuesAt } from "./path.ts";
import { describeValues, type ShortValue, shorten } from "./short-values.ts";

/** The fields of an event that matching reads. */
export interface MatchEvent {
  id?: string;
  tenant: string;
  /** The kind of sender, such as `github`. */
  source: string;
  /** The id of the endpoint or connection. */
  sourceId?: string;
  type: string;
  data: Json;
  /** Milliseconds since 1970. */
  receivedAt?: number;
}

export interface MatchTrigger {
  tenant: string;
  /** A kind of sender, or the id of one endpoint or connection. */
  source: string;
  /** If blank, events of any type match. */
  type?: string | undefined;
  params?: JsonObject | undefined;
  /** A JSONata expression on the event. If blank, there is no filter. */
  filter?: string | undefined;
  isActive: boolean;
}

/** The conditions that a verdict reports. */
export const REASONS = [
  "tenant",
  "active",
  "source",
  "type",
  "param",
  "filter",
  "breaker",
  "concurrency",
] as const;

export interface Reason {
  on: (typeof REASONS)[number];
  /** The path of the param, if `on` is `param`. */
  path?: string;
  holds: boolean;
  /** How the values were compared, if the condition compares values. */
  op?: Operator;
  /** The first values of the event, and the number of the others. */
  actual?: ShortValue[];
  actual_more?: number | undefined;
  /** The value of the trigger; with the operator `in`, its first values. */
  wanted?: ShortValue[];
  wanted_more?: number | undefined;
  /** A message for people, such as `issue.number is 7, wanted gt 10`. */
  message: string;
  /** The filter exceeds its limits. */
  overrun?: true;
}

export interface Verdict {
  matched: boolean;
  /** One for each condition, in order. The filter is evaluated only if the other conditions hold. */
  reasons: Reason[];
}

/** Limits the time for which matching blocks the event loop. Filters do not block it. */
export interface MatchBudget {
  /** The size of the event's payload. */
  bytes: number;
  isSpent(): boolean;
}

interface MatchPorts {
  evaluateFilters: EvaluateFilters;
  budget?: MatchBudget;
}

/**
 * Returns one verdict for each trigger, in order. If a trigger exceeds the budget, the verdicts end
 * before that trigger. One call evaluates the filters of all triggers whose other conditions hold;
 * there is no call if none of these triggers has a filter.
 */
export async function matchTriggers(
  event: MatchEvent,
  triggers: readonly MatchTrigger[],
  { evaluateFilters, budget }: MatchPorts,
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  for (const trigger of triggers) {
    const verdict = matchWithoutFilter(event, trigger, budget);
    if (!verdict) break;
    verdicts.push(verdict);
  }
  const filters = triggers.flatMap(({ filter }, triggerIndex) =>
    filter?.trim() && verdicts[triggerIndex]?.matched ? [{ filter, triggerIndex }] : [],
  );
  if (filters.length === 0) return verdicts;
  const results = await evaluateFilters(
    filters.map(({ filter }) => filter),
    filterInput(event),
  );
  for (const [filterIndex, { triggerIndex }] of filters.entries()) {
    const reason = filterReason(results[filterIndex] as FilterResult);
    const { reasons } = verdicts[triggerIndex] as Verdict;
    verdicts[triggerIndex] = { matched: reason.holds, reasons: [...reasons, reason] };
  }
  return verdicts;
}

function filterInput({ id, source, type, data, receivedAt }: MatchEvent): Json {
  const received_at = receivedAt === undefined ? null : new Date(receivedAt).toISOString();
  return { id: id ?? null, source, type, data, received_at };
}

const filterReason = (result: FilterResult): Reason =>
  "problem" in result
    ? {
        on: "filter",
        holds: false,
        message: `the filter failed: ${result.problem}`,
        ...(result.isOverrun && { overrun: true }),
      }
    : {
        on: "filter",
        holds: result.holds,
        message: `the filter is ${result.holds ? "true" : "not true"}`,
      };

/** Checks every condition except the filter. Returns undefined if the params exceed the budget. */
function matchWithoutFilter(
  event: MatchEvent,
  trigger: MatchTrigger,
  budget: MatchBudget | undefined,
): Verdict | undefined {
  // A verdict must not reveal anything about another tenant's event, not even its type.
  if (event.tenant !== trigger.tenant) return verdictOf([OTHER_TENANT]);
  const { source, sourceId, type, data } = event;
  const reasons: Reason[] = [
    {
      on: "active",
      holds: trigger.isActive,
      message: trigger.isActive ? "the trigger is active" : "the trigger is not active",
    },
    compare(
      { on: "source", holds: trigger.source === source || trigger.source === sourceId },
      "eq",
      [source],
      [trigger.source],
    ),
  ];
  if (trigger.type?.trim())
    reasons.push(
      compare({ on: "type", holds: trigger.type === type }, "eq", [type], [trigger.type]),
    );
  for (const [path, param] of Object.entries(trigger.params ?? {})) {
    if (budget && (budget.isSpent() || exceedsBudget(budget, param))) return undefined;
    reasons.push(matchParam(data, path, param));
  }
  return verdictOf(reasons);
}

/**
 * If the value of a param is or contains an object or a nested list, the comparison takes time
 * proportional to the product of both sizes. All other params take a few milliseconds, because large
 * payloads are compared in a job.
 */
function exceedsBudget({ bytes }: MatchBudget, param: Json): boolean {
  const test = readParam(param);
  if (typeof test !== "object" || "problem" in test || !hasObject(test.value)) return false;
  return bytes * JSON.stringify(test.value).length > MAX_COMPARED;
}

/** The product of both sizes. A comparison within this limit takes 10 ms at most. */
const MAX_COMPARED = 2_500_000;

const isCompound = (value: Json): boolean => typeof value === "object" && value !== null;
const hasObject = (value: Json): boolean =>
  Array.isArray(value) ? value.some(isCompound) : isCompound(value);

const OTHER_TENANT: Reason = {
  on: "tenant",
  holds: false,
  message: "the event belongs to another tenant",
};

const verdictOf = (reasons: Reason[]): Verdict => ({
  matched: reasons.every((reason) => reason.holds),
  reasons,
});

function matchParam(data: Json, path: string, param: Json): Reason {
  const reason = (isMatch: boolean, message: string): Reason => ({
    on: "param",
    path,
    holds: isMatch,
    message: `${path} ${message}`,
  });
  const test = readParam(param);
  if (test === "any") return reason(true, "can have any value");
  if ("problem" in test) return reason(false, `is an invalid param: ${test.problem}`);
  const parsed = parsePath(path);
  if (!parsed) return reason(false, "is not a path such as issue.labels[].name");
  const { op, value } = test;
  const actual = valuesAt(data, parsed);
  const wanted = Array.isArray(value) && op === "in" ? value : [value];
  return compare({ on: "param", path, holds: holds(op, actual, value) }, op, actual, wanted);
}

/** Returns the reason with the values that were compared, and a message such as `issue.number is 7, wanted gt 10`. */
function compare(
  condition: { on: Reason["on"]; path?: string; holds: boolean },
  op: Operator,
  allActual: readonly Json[],
  allWanted: readonly Json[],
): Reason {
  const { on, path, holds } = condition;
  const actual = shorten(allActual);
  const wanted = shorten(allWanted);
  const actualMore = allActual.length - actual.length;
  const wantedMore = allWanted.length - wanted.length;
  const message = describeComparison(path ?? on, op, { actual, actualMore, wanted, wantedMore });
  // Literals: an event is compared with many triggers, and a spread is slow.
  const reason: Reason =
    path === undefined
      ? { on, holds, message, op, actual, wanted }
      : { on, path, holds, message, op, actual, wanted };
  if (actualMore > 0) reason.actual_more = actualMore;
  if (wantedMore > 0) reason.wanted_more = wantedMore;
  return reason;
}

interface ComparedValues {
  actual: readonly ShortValue[];
  actualMore?: number | undefined;
  wanted: readonly ShortValue[];
  wantedMore?: number | undefined;
}

function describeComparison(
  name: string,
  op: Operator,
  { actual, actualMore, wanted, wantedMore }: ComparedValues,
): string {
  const state = actual.length === 0 ? "does not exist" : `is ${describeValues(actual, actualMore)}`;
  const wantedText = describeValues(wanted, wantedMore);
  return `${name} ${state}, wanted ${op === "eq" ? wantedText : `${op} ${wantedText}`}`;
}

type StoredReason = Omit<Reason, "message"> & Partial<Pick<Reason, "message">>;

/** Leaves out messages that follow from the compared values. `decodeReasons` adds them. */
export const encodeReasons = (reasons: readonly Reason[]): string =>
  JSON.stringify(
    reasons.map((reason) => {
      const { on, path, holds, op, actual, actual_more, wanted, wanted_more } = reason;
      return op ? { on, path, holds, op, actual, actual_more, wanted, wanted_more } : reason;
    }),
  );

export const decodeReasons = (text: string): Reason[] =>
  (JSON.parse(text) as StoredReason[]).map((reason) => {
    const { on, path, op, actual = [], wanted = [], message } = reason;
    if (message !== undefined || !op) return { ...reason, message: message ?? "" };
    const more = { actualMore: reason.actual_more, wantedMore: reason.wanted_more };
    const values = { actual, wanted, ...more };
    return { ...reason, message: describeComparison(path ?? on, op, values) };
  });
