import type { Verb } from "./sql.ts";

export interface Migration {
  name: string;
  /** `TEXT`, `BLOB` and `CLUSTERED` are replaced by the engine's keywords; see `Dialect`. */
  statements: readonly string[];
  /** Skipped by engines without `CLUSTERED` tables. */
  onlyClustered?: true;
  /** Fills the new tables, after the statements. */
  fill?: () => Verb<void>;
}
