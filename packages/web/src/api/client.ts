/** Requests to the hub's API. The session cookie authenticates them; see types.ts for the views. */
import { ApiError, readProblem, UnreachableError } from "./problem.ts";
import { chosenTenant } from "./tenant.ts";

export type Query = Record<string, string | number | boolean | null | undefined>;

interface Options {
  query?: Query;
  body?: unknown;
  /** The revision of the flow that was read. */
  ifMatch?: number;
  /** The first and the last byte of the part to be returned. */
  range?: readonly [number, number];
  signal?: AbortSignal;
}

/** The path with its query; empty and missing values are left out, and `true` is sent as 1. */
export function toUrl(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === "" || value === false) continue;
    params.set(name, value === true ? "1" : String(value));
  }
  const text = params.toString();
  return text ? `${path}?${text}` : path;
}

/** Encodes the parts of a path: path`/api/flows/${id}`. */
export const path = (parts: TemplateStringsArray, ...values: string[]): string =>
  String.raw({ raw: parts }, ...values.map(encodeURIComponent));

/** `fetch` throws a TypeError if no response arrives, or not all of it. An abort is another error. */
const throwUnreachable = (error: unknown): never => {
  throw error instanceof TypeError ? new UnreachableError(error) : error;
};

const send = async (method: string, target: string, options: Options = {}): Promise<Response> => {
  const { query, body, ifMatch, range, signal } = options;
  // A session belongs to no tenant.
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

/** The address of a file for a link, which the browser opens by itself. */
export const fileUrl = (target: string): string => toUrl(target, { tenant: chosenTenant() });

export const api = {
  get: <View>(target: string, query?: Query, signal?: AbortSignal) =>
    receive<View>("GET", target, { ...(query && { query }), ...(signal && { signal }) }),
  /** A part of a value, and the size of the whole. */
  bytes: async (target: string, range: readonly [number, number], signal?: AbortSignal) => {
    const response = await send("GET", target, { range, ...(signal && { signal }) });
    const bytes = new Uint8Array(await response.arrayBuffer());
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
