/**
 * Where a reader of several tenants' logs is: the last `seq` of each. To readers it is a word
 * without a meaning; for a single tenant it is simply that number.
 */
export type Cursor = ReadonlyMap<string, number>;

export function encodeCursor(cursor: Cursor, tenants: readonly string[]): string {
  if (tenants.length === 1) return String([...cursor.values()][0]);
  return [...cursor].map(([tenant, seq]) => `${encodeURIComponent(tenant)}:${seq}`).join(",");
}

/** Undefined for what no `encodeCursor` made. A tenant that it does not name starts at its beginning. */
export function decodeCursor(text: string, tenants: readonly string[]): Cursor | undefined {
  if (/^\d{1,15}$/.test(text)) {
    const [tenant] = tenants;
    return tenants.length === 1 && tenant !== undefined
      ? new Map([[tenant, Number(text)]])
      : undefined;
  }
  const cursor = new Map<string, number>();
  for (const part of text.split(",")) {
    const match = /^([^:,]+):(\d{1,15})$/.exec(part);
    if (!match?.[1] || !URL.canParse(`x:${match[1]}`)) return undefined;
    const tenant = decodeURIComponent(match[1]);
    if (tenants.includes(tenant)) cursor.set(tenant, Number(match[2]));
  }
  return cursor;
}
