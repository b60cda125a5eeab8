/**
 * Finds the hub that a command uses, and sends requests to its HTTP API. The address is `--url`, then
 * SIGNALBOX_URL, then the hub that runs on the data folder, then HOST and PORT. The hub that runs on
 * the data folder has written a token to it; for any other hub, SIGNALBOX_TOKEN is sent.
 */
import type { Routes } from "@signalbox/contract";
import { type Client, createClient } from "@signalbox/contract/client.ts";
import type { Problem } from "@signalbox/contract/problem.ts";
import { CommandFailed } from "./command.ts";
import { type HubFile, readHubFile, tryReadHubFile } from "./hub-file.ts";
import { canServe } from "./program.ts";
import { serveFlags } from "./same-hub-flags.ts";
import { type ClientSettings, localUrl } from "./settings.ts";

export interface HubLocation {
  /** Without a trailing slash. */
  url: string;
  token: string | undefined;
  /** Whether the token is from SIGNALBOX_TOKEN, and not from hub.json. */
  isTokenGiven: boolean;
  /** `settings`: --url or SIGNALBOX_URL. `file`: a running hub's hub.json. `default`: HOST and PORT. */
  from: "settings" | "file" | "default";
  /** The flags with which `serve` starts a hub on the same data folder. */
  serveFlags?: string;
}

type LocatingSettings = Pick<
  ClientSettings,
  "url" | "token" | "data" | "host" | "port" | "origins"
>;

export function locateHub(settings: LocatingSettings): HubLocation {
  const { url, token, data } = settings;
  const isTokenGiven = token !== undefined;
  const flags = serveFlags(settings);
  const givenUrl = url ?? (hasFlag(settings, "host", "port") ? localUrl(settings) : undefined);
  if (givenUrl !== undefined) {
    const local = tryReadHubFile(data);
    // The token of the local hub is not sent to any other hub.
    const isLocal =
      local && [local.url, local.public_url].some((address) => isSameUrl(address, givenUrl));
    const localToken = isLocal ? local.token : undefined;
    return {
      url: withoutTrailingSlash(givenUrl),
      token: token ?? localToken,
      isTokenGiven,
      from: "settings",
      serveFlags: flags,
    };
  }
  const local = readHubFile(data);
  if (local) return locationOf(local, flags);
  return { url: localUrl(settings), token, isTokenGiven, from: "default", serveFlags: flags };
}

const locationOf = ({ url, token }: HubFile, flags: string) => ({
  url: withoutTrailingSlash(url),
  token,
  isTokenGiven: false,
  from: "file" as const,
  serveFlags: flags,
});

/** Only flags count, because HOST and PORT in the environment may be meant for another program. */
const hasFlag = ({ origins }: Pick<ClientSettings, "origins">, ...names: string[]): boolean =>
  origins.some(({ name, from }) => from === "flag" && names.includes(name));

const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, "");
export const isSameUrl = (a: string, b: string): boolean =>
  withoutTrailingSlash(new URL(a).href) === withoutTrailingSlash(new URL(b).href);

/** The hub responded with an error, or did not respond. */
export class HubRequestFailed extends CommandFailed {
  /** Undefined if there was no response. */
  readonly status: number | undefined;
  /** The stable code of the problem document, such as `token_unknown`. */
  readonly code: string | undefined;
  /** The problem document; empty if there is none. */
  readonly problem: Partial<Problem>;

  constructor(message: string, status?: number, problem: Partial<Problem> = {}) {
    super(message);
    this.status = status;
    this.problem = problem;
    this.code = problem.code;
  }
}

interface RequestOptions {
  query?: Record<string, string | number | boolean | undefined>;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

export interface HubClient extends Client<Routes> {
  /** The hub's address, without a trailing slash. */
  readonly url: string;
  /** Returns the response itself, for streams. Throws on a status other than 2xx. */
  open(method: string, path: string, options?: RequestOptions): Promise<Response>;
}

export interface HubClientOptions {
  /** Limits the requests to this tenant. */
  tenant?: string | undefined;
  /** Handles the requests in this process, without the network. */
  fetch?: typeof globalThis.fetch;
}

export function createHubClient(
  location: HubLocation,
  { tenant, fetch = globalThis.fetch }: HubClientOptions = {},
): HubClient {
  const { url, token } = location;
  const open: HubClient["open"] = async (method, path, options = {}) => {
    const { query = {}, body, headers = {}, signal } = options;
    const target = new URL(`${url}${path}`);
    for (const [name, value] of Object.entries({ ...query, tenant }))
      if (value !== undefined) target.searchParams.set(name, String(value));
    let response: Response;
    try {
      response = await fetch(target, {
        method,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      });
    } catch (error) {
      // An error of a request in this process is not an error of the network.
      if (signal?.aborted || fetch !== globalThis.fetch) throw error;
      throw noResponse(location, error);
    }
    if (!response.ok) throw await requestFailed(location, response);
    return response;
  };
  const client = createClient<Routes>(async ({ method, path, ...options }) => {
    const response = await open(method, path, options);
    const text = await response.text();
    try {
      return text === "" ? undefined : JSON.parse(text);
    } catch {
      throw new HubRequestFailed(notAHubMessage(url), response.status);
    }
  });
  return { ...client, url, open };
}

/** A client of the hub that the settings name. Does not check whether that hub is running. */
export const connectToHub = (
  settings: LocatingSettings,
  options: HubClientOptions = {},
): HubClient => createHubClient(locateHub(settings), options);

/**
 * Returns the hub that runs on this data folder, or undefined. A hub that was killed leaves its file
 * behind: its address then refuses connections, or belongs to another program, which rejects the token.
 */
export async function findRunningHub(
  settings: Pick<ClientSettings, "data" | "origins">,
): Promise<(HubLocation & HubFile) | undefined> {
  const local = readHubFile(settings.data);
  if (!local) return undefined;
  const hub = { ...local, ...locationOf(local, serveFlags(settings)) };
  try {
    const signal = AbortSignal.timeout(10_000);
    await createHubClient(hub).get("/api/stats", { signal });
    return hub;
  } catch (error) {
    const isHubError = error instanceof HubRequestFailed && error.code !== undefined;
    return isHubError && error.status !== 401 ? hub : undefined;
  }
}

/** Returns the reason of a failed `fetch`, which is usually in the cause of the error. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof AggregateError) return (cause as { code?: string }).code ?? cause.message;
  return (cause instanceof Error && cause.message) || error.message;
}

export function noResponse(
  { url, from, serveFlags = "" }: HubLocation,
  error: unknown,
): HubRequestFailed {
  const address = "give the hub's address with --url or SIGNALBOX_URL.";
  // Without the hub, `npx signalbox` would download an unrelated package, which would get the token.
  const serve = canServe ? ` with \`npx signalbox serve${serveFlags}\`` : "";
  const fix = {
    settings: "Check the address (--url, SIGNALBOX_URL), and that the hub is running.",
    file: `Start the hub${serve}${canServe ? "." : `, or ${address}`}`,
    default: canServe
      ? `Start a hub${serve}, run the command in its folder, or ${address}`
      : `G${address.slice(1)}`,
  }[from];
  return new HubRequestFailed(`No response from ${url} (${causeOf(error)}). ${fix}`);
}

const notAHubMessage = (url: string) =>
  `${url} does not respond like a Signalbox hub. Check the address (--url, SIGNALBOX_URL).`;

async function requestFailed(location: HubLocation, response: Response): Promise<HubRequestFailed> {
  const { status } = response;
  const problem = await readProblem(response);
  const message = problem
    ? explainProblem(location, problem, scopeOf(response))
    : status >= 500
      ? `${location.url} responded with status ${status}.`
      : notAHubMessage(location.url);
  return new HubRequestFailed(message, status, problem);
}

function explainProblem(
  { url, token, isTokenGiven }: HubLocation,
  { status, code, detail, errors = [] }: Problem,
  scope: string | undefined,
): string {
  if (status === 401 && token === undefined)
    return `${url} requires a token: set SIGNALBOX_TOKEN. ${tokenAdvice()}`;
  if (status === 401)
    return isTokenGiven
      ? `${url} rejects the token in SIGNALBOX_TOKEN: ${detail}${hasAdvice(code) ? "" : ` ${tokenAdvice()}`}`
      : `${url} rejects the token: ${detail}`;
  if (code === "no_tenant")
    return errors.some(({ path }) => path === "tenant")
      ? `${url} has several tenants: name one with --tenant ID.`
      : `${url} denies the request: ${detail}`;
  if (code === "insufficient_scope")
    return `${url} denies the request: ${detail} ${tokenAdvice(scope)}`;
  return detail;
}

/** True for the codes whose messages say how to create a token. */
const hasAdvice = (code: string): boolean => ["token_expired", "token_missing"].includes(code);

const tokenAdvice = (scope?: string): string =>
  scope === undefined
    ? "`npx signalbox token create NAME` on the hub's machine creates one."
    : `\`npx signalbox token create NAME --scope ${scope}\` on the hub's machine creates a token with this scope.`;

/** Returns the scope that the request requires, as the response names it. */
const scopeOf = ({ headers }: Response): string | undefined =>
  /\bscope="([\w:]+)"/.exec(headers.get("www-authenticate") ?? "")?.[1];

async function readProblem(response: Response): Promise<Problem | undefined> {
  try {
    const problem = (await response.json()) as Partial<Problem>;
    const isProblem = typeof problem.detail === "string" && typeof problem.code === "string";
    return isProblem ? (problem as Problem) : undefined;
  } catch {
    return undefined;
  }
}
