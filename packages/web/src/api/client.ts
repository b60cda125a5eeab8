/** Requests to the hub's API. The session cookie authenticates them; types.ts has the types of the responses. */
import type { Routes } from "@signalbox/contract";
import { createClient } from "@signalbox/contract/client.ts";
import { ApiError, readProblem, UnreachableError } from "./problem.ts";
import { chosenTenant } from "./tenant.ts";

export type Query = Record<string, string | number | boolean | null | undefined>;

interface Options {
  query?: Query;
  body?: unknown;
  /** The revision of the flow that the caller has read. The hub rejects the request if it is outdated. */
  ifMatch?: number;
  /** The offsets of the first and the last byte that the hub returns. */
  range?: readonly [number, number];
  signal?: AbortSignal;
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

/** Encodes the values in a path: path`/api/flows/${id}`. */
export const path = (literals: TemplateStringsArray, ...values: string[]): string =>
  String.raw({ raw: literals }, ...values.map(encodeURIComponent));

/** `fetch` throws a TypeError if the response does not arrive, or only in part. Other errors, such as an abort, pass unchanged. */
const throwUnreachable = (error: unknown): never => {
  throw error instanceof TypeError ? new UnreachableError(error) : error;
};

const send = async (method: string, target: string, options: Options = {}): Promise<Response> => {
  const { query, body, ifMatch, range, signal } = options;
  // Requests for the session name no tenant: the hub would reject one that the session has lost.
  const tenant = target === "/api/session" ? undefined : chosenTenant();
  const response = await fetch(toUrl(target, { ...query, tenant }), {
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

const receive = async <View>(method: string, target: string, options?: Options): Promise<View> => {
  const response = await send(method, target, options);
  if (response.status === 204) return undefined as View;
  return (await response.json().catch(throwUnreachable)) as View;
};

/** Calls the routes of the contract: the types of a request and its response follow from the path. */
export const client = createClient<Routes>(({ method, path, ...options }) =>
  receive<unknown>(method, path, options),
);

/** The URL of a file, for a link that the browser opens without this client. */
export const fileUrl = (target: string): string => toUrl(target, { tenant: chosenTenant() });

export const api = {
  get: <View>(target: string, query?: Query, signal?: AbortSignal) =>
    receive<View>("GET", target, { ...(query && { query }), ...(signal && { signal }) }),
  /** Returns the bytes in `range`, and the size of the whole value. */
  bytes: async (target: string, range: readonly [number, number], signal?: AbortSignal) => {
    const response = await send("GET", target, { range, ...(signal && { signal }) });
    const bytes = new Uint8Array(await response.arrayBuffer().catch(throwUnreachable));
    const [, size] = /\/(\d+)$/.exec(response.headers.get("content-range") ?? "") ?? [];
    return { bytes, size: size === undefined ? bytes.length : Number(size) };
  },
  post: <View>(target: string, body: unknown = {}, options: Omit<Options, "body"> = {}) =>
    receive<View>("POST", target, { ...options, body }),
  put: <View>(target: string, body: unknown, options: Omit<Options, "body"> = {}) =>
    receive<View>("PUT", target, { ...options, body }),
  patch: <View>(target: string, body: unknown, options: Omit<Options, "body"> = {}) =>
    receive<View>("PATCH", target, { ...options, body }),
  delete: <View = void>(target: string, options: Omit<Options, "body"> = {}) =>
    receive<View>("DELETE", target, options),
};
