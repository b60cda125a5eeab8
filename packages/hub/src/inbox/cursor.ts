/**
 * Where a reader of several tenants' logs is: the last `seq` of each. To readers it is a word
 * without a meaning; for a single tenant it is simply that number. Behind an `@` it may say which
 * database's logs they are.
 */
export type Cursor = ReadonlyMap<string, number>;

/**
 * No longer one is given out: what tenants a token may have sees to it. Proxies seldom take more in
 * one line of a header.
 */
export const MAX_CURSOR = 8_000;

/** Enough of a log's id to tell two of them apart. */
export const shortLogId = (id: string): string => id.slice(0, 8);

export function encodeCursor(cursor: Cursor, tenants: readonly string[], logId?: string): string {
  const places =
    tenants.length === 1
      ? String([...cursor.values()][0])
      : [...cursor].map(([tenant, seq]) => `${encodeURIComponent(tenant)}:${seq}`).join(",");
  return logId === undefined ? places : `${places}@${shortLogId(logId)}`;
}

/**
 * Undefined for what no `encodeCursor` made. `0` is the beginning of every log, also of several. A
 * tenant that it does not name has no place: a list shows all of its log, a stream what is new.
 * Places in logs that are not those of `logId` lie beyond the end of any.
 */
export function decodeCursor(
  text: string,
  tenants: readonly string[],
  logId?: string,
): Cursor | undefined {
  const [, places = text, log] = /^([^@]*)@([0-9a-f]{8})$/.exec(text) ?? [];
  const cursor = decodePlaces(places, tenants);
  if (!cursor || !log || !logId || log === shortLogId(logId)) return cursor;
  return new Map([...cursor.keys()].map((tenant) => [tenant, Number.POSITIVE_INFINITY]));
}

function decodePlaces(text: string, tenants: readonly string[]): Cursor | undefined {
  if (text === "0") return new Map(tenants.map((tenant) => [tenant, 0]));
  if (/^\d{1,15}$/.test(text)) {
    const [tenant] = tenants;
    return tenants.length === 1 && tenant !== undefined
      ? new Map([[tenant, Number(text)]])
      : undefined;
  }
  const cursor = new Map<string, number>();
  for (const part of text.split(",")) {
    const [, name, seq] = /^([^:,@]+):(\d{1,15})$/.exec(part) ?? [];
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
