/** The rows of a record while the user edits it. Two rows may have the same name until the user corrects it. */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { useState } from "react";

export type Row = readonly [name: string, value: Json];

const isEqual = (a: JsonObject, b: JsonObject) => JSON.stringify(a) === JSON.stringify(b);

/** Without blank rows, which are new. */
const recordOf = (rows: readonly Row[]): JsonObject =>
  Object.fromEntries(rows.filter(([name, value]) => name !== "" || value !== ""));

export function useRows(value: JsonObject, onChange: (value: JsonObject | undefined) => void) {
  const [rows, setRows] = useState<readonly Row[]>(() => Object.entries(value));
  // They differ after an undo, or a change in another tab: then the rows are stale.
  const isCurrent = isEqual(recordOf(rows), value);
  const shown = isCurrent ? rows : Object.entries(value);
  const changeRows = (next: readonly Row[]) => {
    setRows(next);
    const record = recordOf(next);
    onChange(Object.keys(record).length > 0 ? record : undefined);
  };
  return [shown, changeRows] as const;
}
