/** The context of an HTTP request for its handler. It passes through the SDK as `authInfo`. */
import { type AuthInfo, readRequestBody, type ServerContext } from "@modelcontextprotocol/server";
import type { ReserveBytes } from "../inbox/response-budget.ts";
import type { StoredApp } from "../store/flow-store.ts";
import type { Access } from "../tenants/authorizer.ts";

export interface RequestContext {
  access: Access;
  reserveBytes: ReserveBytes;
  /** The app whose server handles the request; undefined for the inbox. */
  app?: StoredApp;
}

export const toAuthInfo = (requestContext: RequestContext): AuthInfo => ({
  token: requestContext.access.token,
  clientId: requestContext.access.token,
  scopes: [...requestContext.access.scopes],
  extra: { ...requestContext },
});

/** Every request has its own context, even within a session. */
export const requestContextOf = ({ http }: Pick<ServerContext, "http">): RequestContext =>
  http?.authInfo?.extra as unknown as RequestContext;

const isSameSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((item) => other.includes(item));

/** The same token, with the same scopes and tenants. */
export const isSameAccess = (one: Access, other: Access): boolean =>
  one.token === other.token &&
  isSameSet(one.tenants, other.tenants) &&
  isSameSet(one.scopes, other.scopes);

/** The maximum size of a request that opens a session or a stream. */
export const MAX_OPENING_BYTES = 64 * 1024;

/** Parses a copy of the body; undefined when it is larger than `MAX_OPENING_BYTES` or not JSON. */
export async function peekBody(request: Request): Promise<unknown> {
  const copy = request.clone();
  try {
    const read = await readRequestBody(copy, MAX_OPENING_BYTES);
    return read.tooLarge ? undefined : JSON.parse(read.text);
  } catch {
    return undefined;
  } finally {
    copy.body?.cancel().catch(() => {}); // otherwise the rest of the body is buffered for the copy
  }
}
