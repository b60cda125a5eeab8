/** Converts verdicts to the short texts of the tab “Why”, and sorts the triggers. */
import type { ExplainedTrigger, Reason } from "@signalbox/contract";
import { describeValues } from "@signalbox/rules/match/short-values.ts";
import type { ChipProps } from "../ui/chip.tsx";
import { count } from "../ui/format.ts";

const RUN_STATES: Record<string, { text: string; tone: ChipProps["tone"] }> = {
  queued: { text: "run queued", tone: "lunar" },
  running: { text: "run under way", tone: "lunar" },
  held: { text: "run held", tone: "amber" },
  waiting: { text: "run waiting", tone: "amber" },
  succeeded: { text: "run done", tone: "green" },
  failed: { text: "run failed", tone: "red" },
  cancelled: { text: "run cancelled", tone: undefined },
};

export function stateOf({
  matched,
  run_status,
  reasons = [],
  decided,
}: Pick<ExplainedTrigger, "matched" | "run_status" | "reasons" | "decided">): {
  text: string;
  tone?: ChipProps["tone"];
} {
  if (run_status !== null) return RUN_STATES[run_status] ?? { text: run_status };
  if (decided === "pending") return { text: "waits for filters", tone: "lunar" };
  if (matched) return { text: "would start now" };
  const [first] = reasons.filter(({ holds }) => !holds);
  return { text: first?.on === "active" ? "switched off" : "did not start" };
}

/** The hub counts no further. */
const MAX_COUNT = 1_000;
export const countOf = (total: number): string =>
  count(Math.min(total, MAX_COUNT)) + (total > MAX_COUNT ? "+" : "");

export interface DecidingFields {
  flowName: string;
  /** The paths of the fields in the payload. */
  paths: string[];
}

/**
 * Returns the fields of the payload because of which a trigger did not match. If there is no such
 * trigger, returns the fields because of which a trigger matched.
 */
export function findDecidingFields(
  triggers: readonly ExplainedTrigger[],
): DecidingFields | undefined {
  for (const isMatch of [false, true])
    for (const { flow_name, matched, reasons } of triggers) {
      const paths = reasons
        .filter(({ holds, path }) => path !== undefined && holds === isMatch)
        .map(({ path }) => path as string);
      if (matched === isMatch && paths.length > 0)
        return { flowName: flow_name ?? "a flow that was deleted", paths };
    }
  return undefined;
}

const RANKS = { matched: 0, nearMiss: 1, switchedOff: 2, otherEvents: 3 } as const;

function rankOf({ matched, reasons }: ExplainedTrigger): number {
  if (matched) return RANKS.matched;
  const failed = reasons.filter(({ holds }) => !holds);
  if (failed.some(({ on }) => on === "source" || on === "type")) return RANKS.otherEvents;
  return failed.some(({ on }) => on === "active") ? RANKS.switchedOff : RANKS.nearMiss;
}

/**
 * Returns the triggers that listen to events of this source and type (`near`), sorted by rank, and the
 * triggers that listen to other events (`far`).
 */
export function sortTriggers(triggers: readonly ExplainedTrigger[]): {
  near: ExplainedTrigger[];
  far: ExplainedTrigger[];
} {
  const sorted = triggers.toSorted((a, b) => rankOf(a) - rankOf(b));
  return {
    near: sorted.filter((trigger) => rankOf(trigger) < RANKS.otherEvents),
    far: sorted.filter((trigger) => rankOf(trigger) === RANKS.otherEvents),
  };
}

/** A part of a line: plain text, or code such as a path or a value. */
type Part = { text: string; isCode: boolean };
/** The source and type of a trigger, or one of its other conditions. */
export interface Line {
  holds: boolean;
  parts: Part[];
}

const plain = (text: string): Part => ({ text, isCode: false });
const code = (text: string): Part => ({ text, isCode: true });

/** Returns a sentence such as `issue.number is 7, wanted gt 10`, in which the path and the values are code. */
function partsOf({ on, path = on, message, ...reason }: Reason): Part[] {
  const { op, actual, actual_more, wanted, wanted_more } = reason;
  // Verdicts that an earlier version has stored have only a message.
  if (op === undefined || !actual || !wanted) return [plain(message)];
  const wantedText = describeValues(wanted, wanted_more);
  const wantedPart = code(op === "eq" ? wantedText : `${op} ${wantedText}`);
  if (actual.length === 0) return [code(path), plain(" does not exist, wanted "), wantedPart];
  const actualPart = code(describeValues(actual, actual_more));
  return [code(path), plain(" is "), actualPart, plain(", wanted "), wantedPart];
}

/** Returns the source or the type of the event, without quotes. */
const nameIn = ({ actual }: Reason): string => String(actual?.[0]);

/**
 * Converts reasons to lines. If source and type match, they share a line. Reasons that the trigger is
 * active and that the tenant matches are left out. A trigger that is switched off has no lines, because
 * its other conditions do not matter.
 */
export function linesOf({ reasons }: Pick<ExplainedTrigger, "reasons">): Line[] {
  if (reasons.some(({ on, holds }) => on === "active" && !holds)) return [];
  const find = (name: Reason["on"]) =>
    reasons.find(({ on, holds, actual }) => on === name && holds && actual);
  const source = find("source");
  const type = find("type");
  const lines: Line[] = [];
  if (source)
    lines.push({
      holds: true,
      parts: [
        plain("source is "),
        code(nameIn(source)),
        ...(type ? [plain(", type is "), code(nameIn(type))] : []),
      ],
    });
  for (const reason of reasons) {
    const isInFirstLine = reason === source || (reason === type && source !== undefined);
    const isTrivial = reason.holds && (reason.on === "active" || reason.on === "tenant");
    if (!isInFirstLine && !isTrivial) lines.push({ holds: reason.holds, parts: partsOf(reason) });
  }
  return lines;
}
