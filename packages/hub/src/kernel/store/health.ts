import { defineTables, rowNumber, time } from "./schema.ts";
import { execute } from "./sql.ts";
import { write } from "./verb.ts";

export const healthTables = defineTables({
  health: { columns: { id: rowNumber, checked_at: time }, key: ["id"], shared: true },
});

/** Writes one row. Rejects if the disk is full or the database is read-only. */
export const checkWritable = write("own", (at: number) =>
  execute(
    "INSERT INTO health (id, checked_at) VALUES (1, ?) ON CONFLICT (id) DO UPDATE SET checked_at = excluded.checked_at",
    [at],
  ),
);
