import { notify, type Verb } from "../../../kernel/store/sql.ts";
import type { EndStatus } from "../model.ts";
import type { RunRow } from "./run-rows.ts";

export function* notifyEnded(
  { id, tenant_id, started_at }: Pick<RunRow, "id" | "tenant_id" | "started_at">,
  status: EndStatus,
  at: number,
): Verb<void> {
  // The clocks of replicas can differ: `at` may be before `started_at`.
  const took = started_at === null ? null : Math.max(0, at - started_at);
  yield* notify({ topic: "run_ended", tenant: tenant_id, run: id, status, took });
}
