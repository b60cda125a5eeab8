/**
 * Where a reader of several tenants' logs is: the last `seq` of each. To readers it is a word
 * without a meaning; for a single tenant it is simply that number.
 */
export type Cursor = ReadonlyMap<string, number>;

/**
 * No longer one is given out: what tenants a token may have sees to it. Proxies seldom take more in
 * one line of a header.
 */
export const MAX_CURSOR = 8_000;

export function encodeCursor(cursor: Cursor, tenants: readonly string[]): string {
  if (tenants.length === 1) return String([...cursor.values()][0]);
  return [...cursor].map(([tenant, seq]) => `${encodeURIComponent(tenant)}:${seq}`).join(",");
}

/**
 * Undefined for what no `encodeCursor` made. `0` is the beginning of every log, also of several. A
 * tenant that it does not name has no place: a list shows all of its log, a stream what is new.
 */
export function decodeCursor(text: string, tenants: readonly string[]): Cursor | undefined {
  if (text === "0") return new Map(tenants.map((tenant) => [tenant, 0]));
  if (/^\d{1,15}$/.test(text)) {
    const [tenant] = tenants;
    return tenants.length === 1 && tenant !== undefined
      ? new Map([[tenant, Number(text)]])
      : undefined;
  }
  const cursor = new Map<string, number>();
  for (const part of text.split(",")) {
    const [, name, seq] = /^([^:,]+):(\d{1,15})$/.exec(part) ?? [];
    const tenant = name === undefined ? undefined : decodeName(name);
    if (tenant === undefined) return undefined;
    if (tenants.includes(tenant)) cursor.set(tenant, Number(seq));
  }
  return cursor;
}

function decodeName(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
