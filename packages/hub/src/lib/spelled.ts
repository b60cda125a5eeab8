/** A column's name as all spellings have it: `tool_name`, `toolName`, and `toolname` in PostgreSQL. */
export const spelled = (column: string): string => column.replaceAll("_", "").toLowerCase();
