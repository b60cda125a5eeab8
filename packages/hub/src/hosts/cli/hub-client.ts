/**
 * Finds the hub that a command uses, and sends requests to its HTTP API. The address is `--url`, then
 * SIGNALBOX_URL, then the hub that runs on the data folder, then HOST and PORT. The token is
 * SIGNALBOX_TOKEN, then the one that the running hub left in the data folder.
 */
import { readHubFile } from "../node/hub-file.ts";
import { localUrl, type Settings } from "../settings.ts";
import { CommandFailed } from "./command.ts";

export interface HubLocation {
  /** Without a trailing slash. */
  url: string;
  token: string | undefined;
  /** Whether SIGNALBOX_TOKEN names the token. */
  isTokenGiven: boolean;
  /** `settings`: --url or SIGNALBOX_URL. `file`: a running hub's hub.json. `default`: HOST and PORT. */
  from: "settings" | "file" | "default";
}

type LocatingSettings = Pick<Settings, "url" | "token" | "data" | "host" | "port">;

export function locateHub(settings: LocatingSettings): HubLocation {
  const { url, token, data } = settings;
  const local = readHubFile(data);
  const isTokenGiven = token !== undefined;
  if (url !== undefined) {
    // The local hub's token is sent to no other hub.
    const isLocal = local && [local.url, local.public_url].some((one) => isSame(one, url));
    const localToken = isLocal ? local.token : undefined;
    return { url: trim(url), token: token ?? localToken, isTokenGiven, from: "settings" };
  }
  if (local)
    return { url: trim(local.url), token: token ?? local.token, isTokenGiven, from: "file" };
  return { url: localUrl(settings), token, isTokenGiven, from: "default" };
}

const trim = (url: string): string => url.replace(/\/+$/, "");
const isSame = (a: string, b: string): boolean => trim(new URL(a).href) === trim(new URL(b).href);

/** The hub sent an error, or no response. */
export class HubRequestFailed extends CommandFailed {
  /** Undefined if there was no response. */
  readonly status: number | undefined;
  /** The stable code of the problem document, such as `token_unknown`. */
  readonly code: string | undefined;
  /** The hub's own message, without advice for the command line. */
  readonly detail: string;

  constructor(
    message: string,
    { status, code, detail = message }: { status?: number; code?: string; detail?: string } = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.detail = detail;
  }
}

interface RequestOptions {
  query?: Record<string, string | number | boolean | undefined>;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface HubClient {
  /** The hub's address, without a trailing slash. */
  readonly url: string;
  /** Returns the parsed body of a response with a status of 2xx; undefined if it is empty. */
  request<Body = unknown>(method: string, path: string, options?: RequestOptions): Promise<Body>;
  /** Returns the response itself, for streams. Throws on a status other than 2xx. */
  open(method: string, path: string, options?: RequestOptions): Promise<Response>;
}

export interface HubClientOptions {
  /** Narrows the requests to this tenant. */
  tenant?: string | undefined;
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
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) target.searchParams.set(name, String(value));
    let response: Response;
    try {
      response = await fetch(target, {
        method,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(tenant !== undefined && { "x-signalbox-tenant": tenant }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal }),
      });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw noResponse(location, error);
    }
    if (!response.ok) throw await requestFailed(location, response);
    return response;
  };
  return {
    url,
    open,
    async request<Body>(method: string, path: string, options?: RequestOptions) {
      const response = await open(method, path, options);
      const text = await response.text();
      try {
        return (text === "" ? undefined : JSON.parse(text)) as Body;
      } catch {
        throw new HubRequestFailed(notAHub(url), { status: response.status });
      }
    },
  };
}

/** A client of the hub that the settings name. Does not check whether that hub is running. */
export const connectToHub = (
  settings: LocatingSettings,
  options: HubClientOptions = {},
): HubClient => createHubClient(locateHub(settings), options);

/**
 * The hub that runs on this data folder, or undefined. A hub that was killed left its file: its
 * address refuses connections, or belongs to another program, which does not know the token.
 */
export async function findRunningHub(
  settings: Pick<Settings, "data">,
): Promise<HubLocation | undefined> {
  const local = readHubFile(settings.data);
  if (!local) return undefined;
  const { url, token } = local;
  const location: HubLocation = { url: trim(url), token, isTokenGiven: false, from: "file" };
  try {
    const signal = AbortSignal.timeout(10_000);
    await createHubClient(location).open("GET", "/api/stats", { signal });
    return location;
  } catch (error) {
    const isHub = error instanceof HubRequestFailed && error.code !== undefined;
    return isHub && error.status !== 401 ? location : undefined;
  }
}

/** The message of a failed fetch, which is usually in its cause. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof AggregateError) return (cause as { code?: string }).code ?? cause.message;
  return (cause instanceof Error && cause.message) || error.message;
}

export function noResponse({ url, from }: HubLocation, error: unknown): HubRequestFailed {
  const fix = {
    settings: "Check the address (--url, SIGNALBOX_URL), and that the hub is running.",
    file: "Start the hub with `signalbox serve`.",
    default:
      "Start a hub with `signalbox serve`, run the command in its folder, or give its address with --url or SIGNALBOX_URL.",
  }[from];
  return new HubRequestFailed(`No response from ${url} (${causeOf(error)}). ${fix}`);
}

const notAHub = (url: string) =>
  `${url} does not respond like a Signalbox hub. Check the address (--url, SIGNALBOX_URL).`;

async function requestFailed(location: HubLocation, response: Response): Promise<HubRequestFailed> {
  const { status } = response;
  const problem = await readProblem(response);
  const detail = problem?.detail ?? `The hub responded with status ${status}.`;
  const { code } = problem ?? {};
  if (status !== 404 && problem === undefined && status < 500)
    return new HubRequestFailed(notAHub(location.url), { status });
  return new HubRequestFailed(withAdvice(location, status, detail), {
    status,
    detail,
    ...(code !== undefined && { code }),
  });
}

function withAdvice(
  { url, token, isTokenGiven }: HubLocation,
  status: number,
  detail: string,
): string {
  if (status === 401 && token === undefined)
    return `${url} requires a token: set SIGNALBOX_TOKEN. \`signalbox token create NAME\` in that hub's folder creates one.`;
  if (status === 401)
    return `${url} rejects the token${isTokenGiven ? " in SIGNALBOX_TOKEN" : ""}: ${detail}`;
  if (status === 403) return `${url} denies the request: ${detail}`;
  return detail;
}

async function readProblem(
  response: Response,
): Promise<{ detail: string; code: string | undefined } | undefined> {
  try {
    const { detail, code } = (await response.json()) as { detail?: unknown; code?: unknown };
    return typeof detail === "string"
      ? { detail, code: typeof code === "string" ? code : undefined }
      : undefined;
  } catch {
    return undefined;
  }
}
