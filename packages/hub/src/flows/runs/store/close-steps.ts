import { query, type Verb } from "../../../kernel/store/sql.ts";
import type { RunError } from "../model.ts";

/** Fails the steps of an ended run that have not ended. Returns the ids of their nodes. */
export function* closeSteps(
  run: string,
  at: number,
  errorOf: (node: string) => RunError,
): Verb<string[]> {
  const open = yield* query<{ node_id: string }>(
    "SELECT DISTINCT node_id FROM steps WHERE run_id = ? AND status IN ('running', 'waiting')",
    [run],
  );
  for (const { node_id } of open)
    yield* query(
      "UPDATE steps SET status = 'failed', output = 'null', error = ?, finished_at = ? " +
        "WHERE run_id = ? AND node_id = ? AND status IN ('running', 'waiting')",
      [JSON.stringify(errorOf(node_id)), at, run, node_id],
    );
  return open.map(({ node_id }) => node_id);
}
