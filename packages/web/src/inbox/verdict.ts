/** What a verdict says about a trigger, in a few words. */
import type { ExplainedTrigger } from "../api/types.ts";
import type { ChipProps } from "../ui/chip.tsx";

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
}: Pick<ExplainedTrigger, "matched" | "run_status" | "reasons">): {
  text: string;
  tone?: ChipProps["tone"];
} {
  if (run_status !== null) return RUN_STATES[run_status] ?? { text: run_status };
  if (matched) return { text: "would start now" };
  const [first] = reasons.filter(({ holds }) => !holds);
  return { text: first?.on === "active" ? "switched off" : "did not start" };
}

export interface Deciding {
  /** The name of the flow. */
  name: string;
  paths: string[];
}

/** The first trigger that did not match because of fields of the payload, else the first that matched. */
export function decidingOf(triggers: readonly ExplainedTrigger[]): Deciding | undefined {
  for (const wanted of [false, true])
    for (const { trigger, matched, reasons = [] } of triggers) {
      const paths = reasons
        .filter(({ holds, path }) => path !== undefined && holds === wanted)
        .map(({ path }) => path as string);
      if (matched === wanted && paths.length > 0)
        return { name: trigger.split(" / ")[0] ?? trigger, paths };
    }
  return undefined;
}

/** How much a verdict teaches: what started, what nearly did, what is switched off, and the rest. */
const rankOf = ({ matched, reasons }: ExplainedTrigger): number => {
  if (matched) return 0;
  const failed = reasons.filter(({ holds }) => !holds);
  if (failed.some(({ on }) => on === "source" || on === "type")) return 3;
  return failed.some(({ on }) => on === "active") ? 2 : 1;
};

/** The triggers that listen to such events, in this order, and those that listen to others. */
export function sortTriggers(triggers: readonly ExplainedTrigger[]): {
  near: ExplainedTrigger[];
  far: ExplainedTrigger[];
} {
  const sorted = triggers.toSorted((a, b) => rankOf(a) - rankOf(b));
  return {
    near: sorted.filter((trigger) => rankOf(trigger) < 3),
    far: sorted.filter((trigger) => rankOf(trigger) === 3),
  };
}

/** A part of a reason: words, or code such as a path or a value. */
type Part = { text: string; isCode: boolean };
export interface Line {
  holds: boolean;
  parts: Part[];
}

const words = (text: string): Part => ({ text, isCode: false });
const code = (text: string): Part => ({ text, isCode: true });

/** `issue.number is 7, wanted gt 10` with its path and values as code. */
function partsOf(message: string): Part[] {
  const [, path, found, wanted] = /^(\S+) is (.+), wanted (.+)$/s.exec(message) ?? [];
  if (path === undefined || found === undefined || wanted === undefined) return [words(message)];
  return [code(path), words(" is "), code(found), words(", wanted "), code(wanted)];
}

const unquoted = (message: string): string =>
  (/ is "(.*)", wanted /s.exec(message)?.[1] ?? / is (.*), wanted /s.exec(message)?.[1]) || message;

/** The reasons to read: what always holds is left out, and the sender and type share a line. */
export function linesOf({ reasons }: Pick<ExplainedTrigger, "reasons">): Line[] {
  if (reasons.some(({ on, holds }) => on === "active" && !holds)) return [];
  const source = reasons.find(({ on, holds }) => on === "source" && holds);
  const type = reasons.find(({ on, holds }) => on === "type" && holds);
  const lines: Line[] = [];
  if (source)
    lines.push({
      holds: true,
      parts: [
        words("source is "),
        code(unquoted(source.message)),
        ...(type ? [words(", type is "), code(unquoted(type.message))] : []),
      ],
    });
  for (const reason of reasons) {
    const isSaid = reason === source || (reason === type && source !== undefined);
    const isDull = reason.holds && (reason.on === "active" || reason.on === "tenant");
    if (!isSaid && !isDull) lines.push({ holds: reason.holds, parts: partsOf(reason.message) });
  }
  return lines;
}
