/** A run of an event: the flow, and how long it took or why it failed. */
import type { EventRun } from "../inbox/use-event-runs.ts";
import { Chip } from "../ui/chip.tsx";
import { duration } from "../ui/format.ts";
import { lookOfRun } from "./run-words.ts";

/** Of other states, the chip shows how long the run took. */
const NOTES: Partial<Record<EventRun["status"], string>> = {
  queued: "queued",
  held: "held",
  waiting: "waiting",
  failed: "failed",
  cancelled: "cancelled",
};

export function RunChip({ run }: { run: EventRun }) {
  const { aspect, icon, label } = lookOfRun(run.status);
  const took = timeOf(run);
  const text =
    errorNote(run.error) ?? NOTES[run.status] ?? (took === undefined ? "" : duration(took));
  const name = run.flow_name ?? run.flow_id;
  return (
    <Chip
      tone={run.status === "queued" ? undefined : aspect}
      icon={icon}
      words
      title={run.error?.message ?? `${name}: ${label}`}
      className="max-w-[200px]"
    >
      {text ? `${name} · ${text}` : name}
    </Chip>
  );
}

/** A failure in one or two words. */
function errorNote(error: EventRun["error"]): string | undefined {
  if (!error) return undefined;
  const { status } = (error.details ?? {}) as { status?: unknown };
  if (typeof status === "number") return `HTTP ${status}`;
  return error.code.includes("timeout") ? "timed out" : "failed";
}

/** How long the run took, or has taken so far. */
export function timeOf(
  { started_at, finished_at }: Pick<EventRun, "started_at" | "finished_at">,
  now = Date.now(),
): number | undefined {
  if (started_at === null) return undefined;
  return (finished_at === null ? now : Date.parse(finished_at)) - Date.parse(started_at);
}
