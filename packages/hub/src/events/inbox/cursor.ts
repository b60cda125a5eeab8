/**
 * A position in the logs of several tenants: for each tenant, the `seq` of the last event that was read.
 *
 * Clients get a cursor as text, which is opaque to them: for one tenant the `seq`, for several tenants
 * `TENANT:SEQ,TENANT:SEQ`. An `@` and the id of the database can follow.
 */
export type Cursor = ReadonlyMap<string, number>;

/**
 * The maximum length of a cursor, because many proxies reject longer header lines. The limits on the
 * tenants of a token guarantee that no cursor is longer.
 */
export const MAX_CURSOR = 8_000;

/**
 * The first characters of the id: six that distinguish two databases, and two that change when the database
 * fails over to another server (see `getLogId`).
 */
export const shortLogId = (id: string): string => id.slice(0, 8);
const databaseOf = (id: string): string => id.slice(0, 6);

export function encodeCursor(cursor: Cursor, tenants: readonly string[], logId?: string): string {
  const positions =
    tenants.length === 1
      ? String([...cursor.values()][0])
      : [...cursor].map(([tenant, seq]) => `${encodeURIComponent(tenant)}:${seq}`).join(",");
  return logId === undefined ? positions : `${positions}@${shortLogId(logId)}`;
}

/**
 * Returns undefined if the text is not a cursor. `0` is the beginning of all logs. A tenant that the
 * cursor does not name has no position: a list then returns its whole log, and a stream only new events.
 * If the cursor belongs to a database other than `logId`, all positions are infinite. See also
 * `predatesFailover`.
 */
export function decodeCursor(
  text: string,
  tenants: readonly string[],
  logId?: string,
): Cursor | undefined {
  const { positions, cursorLogId } = splitCursor(text);
  const cursor = decodePositions(positions, tenants);
  if (!cursor || !cursorLogId || !logId || databaseOf(cursorLogId) === databaseOf(logId))
    return cursor;
  return new Map([...cursor.keys()].map((tenant) => [tenant, Number.POSITIVE_INFINITY]));
}

/** Whether the database of the cursor has failed over since, so that the log may have lost events before it. */
export function predatesFailover(text: string, logId: string): boolean {
  const { cursorLogId } = splitCursor(text);
  return (
    cursorLogId !== undefined &&
    cursorLogId !== shortLogId(logId) &&
    databaseOf(cursorLogId) === databaseOf(logId)
  );
}

function splitCursor(text: string): { positions: string; cursorLogId?: string | undefined } {
  const [, positions = text, cursorLogId] = /^([^@]*)@([0-9a-f]{8})$/.exec(text) ?? [];
  return { positions, cursorLogId };
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
  for (const position of text.split(",")) {
    const [, encodedTenant, seq] = /^([^:,@]+):(\d{1,15})$/.exec(position) ?? [];
    const tenant = encodedTenant === undefined ? undefined : decodeTenant(encodedTenant);
    if (tenant === undefined) return undefined;
    if (tenants.includes(tenant)) cursor.set(tenant, Number(seq));
  }
  return cursor;
}

function decodeTenant(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
