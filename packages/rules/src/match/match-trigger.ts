/**
 * Event × trigger → verdict, with a reason for each thing that was looked at. Pure: the hub, the
 * preview in the UI and "why did it not fire?" all ask here, and so agree.
 */
import { isObject, type Json, type JsonObject } from "../json.ts";
import type { Allowance } from "./budget.ts";
import { evaluateFilter } from "./filter.ts";
import { holds } from "./operators.ts";
import { readParam } from "./param.ts";
import { parsePath, valuesAt } from "./path.ts";

/** What matching needs to know of an event. */
export interface MatchEvent {
  id?: string;
  tenant: string;
  /** What kind of sender: `github`. */
  source: string;
  /** Which one exactly: an endpoint, or a connection. */
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
  /** Blank: any. */
  type?: string | undefined;
  params?: JsonObject | undefined;
  /** JSONata over the event; blank: none. */
  filter?: string | undefined;
  isActive: boolean;
}

export interface Reason {
  on: "tenant" | "active" | "source" | "type" | "param" | "filter" | "breaker" | "concurrency";
  /** The param's. */
  path?: string;
  holds: boolean;
  /** For people: `issue.number is 7, wanted gt 10`. */
  message: string;
}

export interface Verdict {
  matched: boolean;
  /** Everything that was looked at, in order; the filter only where the rest held. */
  reasons: Reason[];
}

/** With an allowance for the filters of all triggers that an event is matched with. */
export async function matchTrigger(
  event: MatchEvent,
  trigger: MatchTrigger,
  allowance?: Allowance,
): Promise<Verdict> {
  const verdict = matchWithoutFilter(event, trigger);
  if (!verdict.matched || !trigger.filter?.trim()) return verdict;
  const { id = null, source, type, data, receivedAt } = event;
  const received_at = receivedAt === undefined ? null : new Date(receivedAt).toISOString();
  const seen = { id, source, type, data, received_at };
  const result = await evaluateFilter(trigger.filter, seen, allowance);
  const reason: Reason =
    "problem" in result
      ? { on: "filter", holds: false, message: `the filter failed: ${result.problem}` }
      : {
          on: "filter",
          holds: result.holds,
          message: `the filter is ${result.holds ? "true" : "not true"}`,
        };
  return { matched: reason.holds, reasons: [...verdict.reasons, reason] };
}

/** All but the JSONata expression, which cannot be evaluated at once. */
export function matchWithoutFilter(event: MatchEvent, trigger: MatchTrigger): Verdict {
  // Of another tenant's event nothing is told, not even its type.
  if (event.tenant !== trigger.tenant) return verdictOf([OTHER_TENANT]);
  const { source, sourceId, type, data } = event;
  const reasons: Reason[] = [
    {
      on: "active",
      holds: trigger.isActive,
      message: trigger.isActive ? "the trigger is active" : "the trigger is not active",
    },
    {
      on: "source",
      holds: trigger.source === source || trigger.source === sourceId,
      message: `source is ${show(source)}, wanted ${show(trigger.source)}`,
    },
  ];
  if (trigger.type?.trim())
    reasons.push({
      on: "type",
      holds: trigger.type === type,
      message: `type is ${show(type)}, wanted ${show(trigger.type)}`,
    });
  for (const [path, param] of Object.entries(trigger.params ?? {}))
    reasons.push(matchParam(data, path, param));
  return verdictOf(reasons);
}

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
  const reason = (fits: boolean, message: string): Reason => ({
    on: "param",
    path,
    holds: fits,
    message: `${path} ${message}`,
  });
  const test = readParam(param);
  if (test === "any") return reason(true, "may be anything");
  if ("problem" in test) return reason(false, `is not understood: ${test.problem}`);
  const parsed = parsePath(path);
  if (!parsed) return reason(false, "is not a path such as issue.labels[].name");
  const values = valuesAt(data, parsed);
  const wanted = test.op === "eq" ? show(test.value) : `${test.op} ${show(test.value)}`;
  return reason(holds(test.op, values, test.value), `is ${showAll(values)}, wanted ${wanted}`);
}

const SHOWN = 80;

/** Short: verdicts are stored, and payloads may be large. */
function show(value: Json): string {
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (isObject(value)) return "an object";
  // Only the beginning of a long text is looked at.
  const text = JSON.stringify(typeof value === "string" ? value.slice(0, 2 * SHOWN) : value);
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
}

function showAll(values: readonly Json[]): string {
  if (values.length === 0) return "not there";
  const shown = values.slice(0, 3).map(show).join(", ");
  return values.length > 3 ? `${shown} and ${values.length - 3} more` : shown;
}
