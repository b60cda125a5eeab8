import type { Connection } from "../api/types.ts";
import type { Aspect } from "../ui/signal-head.tsx";

const LOOKS: Record<Connection["status"], { aspect: Aspect; label: string }> = {
  ok: { aspect: "green", label: "responds" },
  failed: { aspect: "red", label: "does not respond" },
  unknown: { aspect: "lunar", label: "not checked yet" },
};
export const lookOfConnection = ({ status }: Pick<Connection, "status">) => LOOKS[status];
