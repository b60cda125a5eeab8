import type { RunItem } from "../api/types.ts";
import type { Aspect } from "../ui/signal-head.tsx";

const LOOKS: Record<RunItem["status"], { aspect: Aspect; label: string }> = {
  queued: { aspect: "lunar", label: "queued" },
  held: { aspect: "amber", label: "held until others end" },
  running: { aspect: "lunar", label: "under way" },
  waiting: { aspect: "amber", label: "waiting" },
  succeeded: { aspect: "green", label: "done" },
  failed: { aspect: "red", label: "failed" },
  cancelled: { aspect: "none", label: "cancelled" },
};
export const lookOfRun = (status: RunItem["status"]) => LOOKS[status];
