/**
 * Converts rows of the tables `flows` and `apps` of a legacy system to the content of a flow file.
 * Pure.
 */

import { renameColumns } from "@signalbox/rules/flows/import/read-flow-file.ts";
import { type Json, type JsonObject, setOwn } from "@signalbox/rules/json.ts";
import { normalizeColumnName } from "@signalbox/rules/normalize-column-name.ts";

type Row = Record<string, unknown>;

/** The app of flows that name no app. */
const DEFAULT_APP = "flows";

export interface FlowRow {
  tenant: Json | undefined;
  flow: JsonObject;
}

/** Returns the content of a file that `readFlowFile` accepts. */
export const fileOfRows = (flows: readonly JsonObject[], apps: readonly Row[]): Json => ({
  app: DEFAULT_APP,
  apps: apps.map((row) => readRow(row).flow),
  flows: [...flows],
});

/** Returns the tenant of a row, and its other columns under their names in flow files. */
export function readRow(row: Row): FlowRow {
  let tenant: Json | undefined;
  const flow: JsonObject = {};
  // Databases also return types that are not JSON, such as dates.
  for (const [column, value] of Object.entries(JSON.parse(JSON.stringify(row)) as JsonObject))
    switch (normalizeColumnName(column)) {
      case "tenantid":
        tenant = value;
        break;
      case "createdat":
      case "updatedat":
        break;
      case "isactive":
        // Databases without booleans store numbers.
        flow.isActive = value === 1 ? true : value === 0 ? false : value;
        break;
      case "toolname":
        // The column itself shows that the flow is a tool, even if the tool has no name.
        flow.toolName = value;
        break;
      case "nodes":
        // Kept even if it is empty: the import reports a row without nodes as invalid.
        setOwn(flow, column, value);
        break;
      default:
        if (value !== null && value !== "") setOwn(flow, column, value);
    }
  return { tenant, flow: renameColumns(flow) };
}
