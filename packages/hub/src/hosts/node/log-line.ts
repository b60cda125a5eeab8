/** A log entry for people: the message, then `key=value` for each field, then the stack of an error. */
const OWN_KEYS = new Set(["level", "time", "msg", "err"]);

export function formatEntry(
  entry: Record<string, unknown>,
  dim: (text: string) => string = (text) => text,
): string {
  const fields = Object.entries(entry)
    .filter(([key, value]) => !OWN_KEYS.has(key) && value !== null && value !== "")
    .map(([key, value]) => `${key}=${formatValue(value)}`);
  const line = [String(entry.msg ?? ""), ...(fields.length > 0 ? [dim(fields.join(" "))] : [])];
  return [line.join(" "), ...stackOf(entry.err)].join("\n");
}

/** Other text is quoted: a space would split it, and control characters would reach the terminal. */
const PLAIN = /^[\w.:/@+%~,*()[\]-]+$/;

function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(formatValue).join(",");
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return PLAIN.test(text) || typeof value !== "string" ? text : JSON.stringify(text);
}

function stackOf(error: unknown): string[] {
  if (typeof error !== "object" || error === null) return [];
  const { stack, message } = error as { stack?: unknown; message?: unknown };
  const text = typeof stack === "string" ? stack : String(message ?? "");
  return text.split("\n").map((line) => `    ${line.trim()}`);
}
