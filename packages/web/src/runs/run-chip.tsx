/** A run of an event: the flow, and how long it took or why it failed. */
import { Ban, Check, Hourglass, LoaderCircle, Pause, X } from "lucide-react";
import type { EventRun } from "../inbox/use-event-runs.ts";
import { Chip } from "../ui/chip.tsx";
import { duration } from "../ui/format.ts";

const LOOKS = {
  queued: { tone: undefined, icon: Hourglass, note: "queued" },
  held: { tone: "amber", icon: Pause, note: "held" },
  running: { tone: "lunar", icon: LoaderCircle, note: "" },
  waiting: { tone: "amber", icon: Pause, note: "waiting" },
  succeeded: { tone: "green", icon: Check, note: "" },
  failed: { tone: "red", icon: X, note: "failed" },
  cancelled: { tone: undefined, icon: Ban, note: "cancelled" },
} as const;

export function RunChip({ run }: { run: EventRun }) {
  const { tone, icon, note } = LOOKS[run.status];
  const took = timeOf(run);
  const text = errorNote(run.error) ?? (note || (took === undefined ? "" : duration(took)));
  const name = run.flow_name ?? run.flow_id;
  return (
    <Chip
      tone={tone}
      icon={icon}
      words
      title={run.error?.message ?? `${name}: ${run.status}`}
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
