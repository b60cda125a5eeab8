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
