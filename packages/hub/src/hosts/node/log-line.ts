/** The keys of an entry that are not written as fields. */
const RESERVED_KEYS = new Set(["level", "time", "msg", "err"]);

/**
 * Formats a log entry for people: the message, then `key=value` for each field, then the stack of an
 * error.
 */
export function formatEntry(
  entry: Record<string, unknown>,
  dim: (text: string) => string = (text) => text,
): string {
  const fields = Object.entries(entry)
    .filter(([key, value]) => !RESERVED_KEYS.has(key) && value !== null && value !== "")
    .map(([key, value]) => `${key}=${formatValue(value)}`);
  const line = [
    escapeControls(String(entry.msg ?? "")),
    ...(fields.length > 0 ? [dim(fields.join(" "))] : []),
  ];
  return [line.join(" "), ...stackOf(entry.err)].join("\n");
}

/** Matches field values that need no quotes. Others are quoted, so that a space does not split them. */
const PLAIN = /^[\w.:/@+%~,*()[\]-]+$/;

function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(formatValue).join(",");
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return escapeControls(
    PLAIN.test(text) || typeof value !== "string" ? text : JSON.stringify(text),
  );
}

/** Escapes characters that control the terminal. */
const escapeControls = (text: string): string =>
  text.replace(
    /\p{Cc}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** The lines of the stacks of an error and its causes. A thrown value that is no object becomes one line. */
function stackOf(error: unknown, prefix = ""): string[] {
  if (error === undefined || error === null) return [];
  const { stack, message, code, cause } = Object(error) as Record<string, unknown>;
  const text = typeof error === "object" ? String(stack ?? message ?? "") : String(error);
  const [first = "", ...rest] = text.split("\n");
  const withCode =
    code === undefined || first.includes(String(code)) ? first : `${first} (${code})`;
  return [
    ...[`${prefix}${withCode}`, ...rest].map((line) => `    ${escapeControls(line.trim())}`),
    ...stackOf(cause, "caused by "),
  ];
}
