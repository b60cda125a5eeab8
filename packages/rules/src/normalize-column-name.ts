/** Makes `tool_name`, `toolName` and PostgreSQL's `toolname` equal. */
export const normalizeColumnName = (column: string): string =>
  column.replaceAll("_", "").toLowerCase();
