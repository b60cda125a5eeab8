/** Who is asking, as it is handed through the SDK to whatever answers. */
import { type AuthInfo, readRequestBody, type ServerContext } from "@modelcontextprotocol/server";
import type { ReserveBytes } from "../inbox/response-budget.ts";
import type { StoredApp } from "../store/flow-store.ts";
import type { Access } from "../tenants/authorizer.ts";

export interface Asking {
  access: Access;
  reserveBytes: ReserveBytes;
  /** Whose tools are asked for, where it is not the inbox. */
  app?: StoredApp;
}

export const authInfoOf = (asking: Asking): AuthInfo => ({
  token: asking.access.token,
  clientId: asking.access.token,
  scopes: [...asking.access.scopes],
  extra: { ...asking },
});

/** Of this very request: in a session, each has its own. */
export const askingOf = ({ http }: Pick<ServerContext, "http">): Asking =>
  http?.authInfo?.extra as unknown as Asking;

const sameOnes = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === others.length && some.every((one) => others.includes(one));

/** The same token, and it opens what it did. */
export const isSameAccess = (one: Access, other: Access): boolean =>
  one.token === other.token &&
  sameOnes(one.tenants, other.tenants) &&
  sameOnes(one.scopes, other.scopes);

/** What opens a session or a stream is small. */
export const MOST_OPENING_BYTES = 64 * 1024;

/** The body as JSON where it is small, else undefined; the request stays as it is. */
export async function peek(request: Request): Promise<unknown> {
  const copy = request.clone();
  try {
    const read = await readRequestBody(copy, MOST_OPENING_BYTES);
    return read.tooLarge ? undefined : JSON.parse(read.text);
  } catch {
    return undefined;
  } finally {
    copy.body?.cancel().catch(() => {}); // or the rest would be kept for it
  }
}
