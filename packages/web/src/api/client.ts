/** Requests to the hub's API. The session cookie authenticates them. */
import type { Routes } from "@signalbox/contract";
import {
  type ApiRequest,
  type BodyOf,
  createClient,
  type QueryOf,
  type RouteAt,
} from "@signalbox/contract/client.ts";
import type { Method } from "@signalbox/contract/route.ts";
import { ApiError, readProblem, UnreachableError } from "./problem.ts";
import { chosenTenant } from "./tenant.ts";

type Query = Record<string, string | number | boolean | null | undefined>;

interface Request extends Omit<ApiRequest, "query"> {
  query?: Query;
  /** The offsets of the first and the last byte that the hub returns. */
  range?: readonly [number, number];
}

/** Adds the query to the path. Leaves out empty, missing and `false` values, and sends `true` as 1. */
export function toUrl(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "" || value === false) continue;
    params.set(name, value === true ? "1" : String(value));
  }
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

/** `fetch` throws a TypeError if the response does not arrive, or only in part. Other errors, such as an abort, pass unchanged. */
const throwUnreachable = (error: unknown): never => {
  throw error instanceof TypeError ? new UnreachableError(error) : error;
};

const send = async (request: Request): Promise<Response> => {
  const { method, path, query, body, ifMatch, range, signal } = request;
  // Requests for the session name no tenant: the hub would reject one that the session has lost.
  const tenant = path === "/api/session" ? undefined : chosenTenant();
  const response = await fetch(toUrl(path, { ...query, tenant }), {
    method,
    credentials: "same-origin",
    headers: {
      accept: "application/json",
      ...(body !== undefined && { "content-type": "application/json" }),
      ...(ifMatch !== undefined && { "if-match": `"${ifMatch}"` }),
      ...(range && { range: `bytes=${range.join("-")}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  }).catch(throwUnreachable);
  if (!response.ok) throw new ApiError(await readProblem(response));
  return response;
};

/** Calls the routes of the contract: the types of a request and its response follow from the path. */
export const api = createClient<Routes>(async (request) => {
  const response = await send(request);
  return response.status === 204 ? undefined : response.json().catch(throwUnreachable);
});

/** The body of the request with this method to this path. */
export type BodyAt<M extends Method, Path extends string> = BodyOf<RouteAt<Routes, M, Path>>;
/** The query of `GET` at this path. */
export type QueryAt<Path extends string> = QueryOf<RouteAt<Routes, "get", Path>>;

/** Returns the bytes in `range`, and the size of the whole value. */
export async function readBytes(
  path: string,
  range: readonly [number, number],
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array; size: number }> {
  const response = await send({ method: "GET", path, range, signal });
  const bytes = new Uint8Array(await response.arrayBuffer().catch(throwUnreachable));
  const [, size] = /\/(\d+)$/.exec(response.headers.get("content-range") ?? "") ?? [];
  return { bytes, size: size === undefined ? bytes.length : Number(size) };
}

/** A longer list is cut off: it would be too long to choose from. */
export const MAX_CHOICES = 1_000;

/** The URL of a file, for a link that the browser opens without this client. */
export const fileUrl = (path: string): string => toUrl(path, { tenant: chosenTenant() });
