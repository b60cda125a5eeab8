import type { RunItem } from "@signalbox/contract";
import { Ban, Check, Hourglass, LoaderCircle, type LucideIcon, Pause, X } from "lucide-react";
import type { Signal } from "../ui/signal-head.tsx";

/** The signal colour, label and icon of each status. */
const SIGNALS: Record<RunItem["status"], Signal & { icon: LucideIcon }> = {
  queued: { aspect: "lunar", label: "queued", icon: Hourglass },
  held: { aspect: "amber", label: "held until others end", icon: Pause },
  running: { aspect: "lunar", label: "under way", icon: LoaderCircle },
  waiting: { aspect: "amber", label: "waiting", icon: Pause },
  succeeded: { aspect: "green", label: "done", icon: Check },
  failed: { aspect: "red", label: "failed", icon: X },
  cancelled: { aspect: "none", label: "cancelled", icon: Ban },
};
export const signalOfRun = (status: RunItem["status"]) => SIGNALS[status];
