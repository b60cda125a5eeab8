/** A chip for a run of an event: the flow, and the duration, the status or the error. */
import type { RunItem } from "@signalbox/contract";
import { Chip } from "../ui/chip.tsx";
import { duration } from "../ui/format.ts";
import { signalOfRun } from "./signal-of-run.ts";

/** For other statuses, the chip shows the duration. */
const NOTES: Partial<Record<RunItem["status"], string>> = {
  queued: "queued",
  held: "held",
  waiting: "waiting",
  failed: "failed",
  cancelled: "cancelled",
};

export function RunChip({ run }: { run: RunItem }) {
  const { aspect, icon, label } = signalOfRun(run.status);
  const took = runDuration(run);
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

/** A short description of an error. */
function errorNote(error: RunItem["error"]): string | undefined {
  if (!error) return undefined;
  const { status } = (error.details ?? {}) as { status?: unknown };
  if (typeof status === "number") return `HTTP ${status}`;
  return error.code.includes("timeout") ? "timed out" : "failed";
}

/** The duration in milliseconds, up to now if the run has not ended; undefined if it has not started. */
export function runDuration(
  { started_at, finished_at }: Pick<RunItem, "started_at" | "finished_at">,
  now = Date.now(),
): number | undefined {
  if (started_at === null) return undefined;
  return (finished_at === null ? now : Date.parse(finished_at)) - Date.parse(started_at);
}
