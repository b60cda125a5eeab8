/** The rows of a record while they are edited: two may have the same name for a moment. */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import { useState } from "react";

export type Row = readonly [name: string, value: Json];

const same = (a: JsonObject, b: JsonObject) => JSON.stringify(a) === JSON.stringify(b);

/** A new row, which is blank, is not part of the record yet. */
const recordOf = (rows: readonly Row[]): JsonObject =>
  Object.fromEntries(rows.filter(([name, value]) => name !== "" || value !== ""));

export function useRows(value: JsonObject, onChange: (value: JsonObject | undefined) => void) {
  const [rows, setRows] = useState<readonly Row[]>(() => Object.entries(value));
  // An undo, or another tab, has changed the record.
  const isOurs = same(recordOf(rows), value);
  const shown = isOurs ? rows : Object.entries(value);
  const put = (next: readonly Row[]) => {
    setRows(next);
    const record = recordOf(next);
    onChange(Object.keys(record).length > 0 ? record : undefined);
  };
  return [shown, put] as const;
}
