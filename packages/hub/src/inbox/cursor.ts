/**
 * A position in the logs of several tenants: the last `seq` of each. Clients treat the text of a cursor
 * as opaque. For a single tenant it is the `seq` itself. An `@` and the id of the database can follow.
 */
export type Cursor = ReadonlyMap<string, number>;

/**
 * The maximum length of a cursor, which the limits on a token's tenants guarantee. Many proxies do not
 * accept longer header lines.
 */
export const MAX_CURSOR = 8_000;

/** Enough characters to distinguish two logs. */
export const shortLogId = (id: string): string => id.slice(0, 8);

export function encodeCursor(cursor: Cursor, tenants: readonly string[], logId?: string): string {
  const positions =
    tenants.length === 1
      ? String([...cursor.values()][0])
      : [...cursor].map(([tenant, seq]) => `${encodeURIComponent(tenant)}:${seq}`).join(",");
  return logId === undefined ? positions : `${positions}@${shortLogId(logId)}`;
}

/**
 * Undefined if the text is not a cursor. `0` is the beginning of all logs. A tenant that the cursor
 * does not name has no position: a list then returns its whole log, a stream only new events. A
 * cursor of another database (`logId`) has infinite positions.
 */
export function decodeCursor(
  text: string,
  tenants: readonly string[],
  logId?: string,
): Cursor | undefined {
  const [, positions = text, log] = /^([^@]*)@([0-9a-f]{8})$/.exec(text) ?? [];
  const cursor = decodePositions(positions, tenants);
  if (!cursor || !log || !logId || log === shortLogId(logId)) return cursor;
  return new Map([...cursor.keys()].map((tenant) => [tenant, Number.POSITIVE_INFINITY]));
}

function decodePositions(text: string, tenants: readonly string[]): Cursor | undefined {
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
