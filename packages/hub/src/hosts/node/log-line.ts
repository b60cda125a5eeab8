/** A log entry for people: the message, then `key=value` for each field, then the stack of an error. */
const OWN_KEYS = new Set(["level", "time", "msg", "err"]);

export function formatEntry(
  entry: Record<string, unknown>,
  dim: (text: string) => string = (text) => text,
): string {
  const fields = Object.entries(entry)
    .filter(([key, value]) => !OWN_KEYS.has(key) && value !== null && value !== "")
    .map(([key, value]) => `${key}=${formatValue(value)}`);
  const line = [
    withoutControls(String(entry.msg ?? "")),
    ...(fields.length > 0 ? [dim(fields.join(" "))] : []),
  ];
  return [line.join(" "), ...stackOf(entry.err)].join("\n");
}

/** Other field values are quoted, so that a space does not split them. */
const PLAIN = /^[\w.:/@+%~,*()[\]-]+$/;

function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.map(formatValue).join(",");
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return withoutControls(
    PLAIN.test(text) || typeof value !== "string" ? text : JSON.stringify(text),
  );
}

/** Escapes characters that control the terminal. */
const withoutControls = (text: string): string =>
  text.replace(
    /\p{Cc}/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** The stack of an error, and of its causes. Something else that was thrown is written as it is. */
function stackOf(error: unknown, prefix = ""): string[] {
  if (error === undefined || error === null) return [];
  const { stack, message, code, cause } = Object(error) as Record<string, unknown>;
  const text = typeof error === "object" ? String(stack ?? message ?? "") : String(error);
  const [first = "", ...rest] = text.split("\n");
  const withCode =
    code === undefined || first.includes(String(code)) ? first : `${first} (${code})`;
  return [
    ...[`${prefix}${withCode}`, ...rest].map((line) => `    ${withoutControls(line.trim())}`),
    ...stackOf(cause, "caused by "),
  ];
}
