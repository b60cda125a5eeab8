import { readSecret } from "@signalbox/rules/settings.ts";
import {
  asString,
  assertNoMoreArguments,
  type Command,
  numberOf,
  print,
  UsageError,
} from "./command.ts";
import {
  createHubClient,
  type HubClient,
  type HubLocation,
  HubRequestFailed,
  locateHub,
  noResponse,
} from "./hub-client.ts";
import { program } from "./program.ts";
import { sameHubFlags } from "./same-hub-flags.ts";
import type { KnownKinds } from "./source.ts";
import { dim, green, red } from "./style.ts";
import type { OpenSession, Session } from "./with-hub.ts";

const SECRET_VARIABLE = "SIGNALBOX_SEND_SECRET";

/** Lets a program act as the sender of webhooks, because it knows the sources and how they sign. */
export interface Sender {
  kinds: KnownKinds;
  /** Throws a `UsageError` if the source has no sample of this type. */
  checkSample(source: string, sample: Sample): void;
  /** Without a secret, the sample is not signed. Creates the delivery id if there is none. */
  signSample(
    source: string,
    sample: Sample,
    secret: string | undefined,
  ): Promise<{ id: string; headers: Record<string, string>; body: Uint8Array }>;
}

interface Sample {
  type: string | undefined;
  action: string | undefined;
  /** The delivery id; if undefined, a new one. */
  id: string | undefined;
}

export const createSend = (openSession: OpenSession, sender?: Sender): Command => ({
  name: "send",
  usage: "SOURCE [TYPE] [--action ACTION] [options]",
  summary: "send a signed sample webhook to a running hub",
  details:
    "Try the hub without a tunnel: `npx @signalbox/cli send github issues --action opened`.\n" +
    "The hub signs the sample with its own secret, and stores it like a real webhook. For a hub on another machine, set\n" +
    `SIGNALBOX_URL and SIGNALBOX_TOKEN (an admin token).${sender ? `\n${DETAILS_OF_SENDER}` : ""}`,
  options: {
    action: { type: "string", value: "ACTION", help: "the sample's action, such as opened" },
    endpoint: {
      type: "string",
      value: "ID",
      help: "an endpoint with a key; `npx @signalbox/cli source list` shows the ids",
    },
    tenant: {
      type: "string",
      value: "ID",
      help: "the tenant of the event (with one tenant: local)",
    },
    id: {
      type: "string",
      value: "ID",
      help: "the delivery id; a second webhook with this id is a duplicate",
    },
    count: { type: "string", value: "N", help: "the number of webhooks to send (1)" },
    json: { type: "boolean", help: "print the responses as JSON lines" },
  },
  settings: ["url", "token", "data", "host", "port"],
  async run({ positionals, flags }) {
    const [source, type, ...rest] = positionals;
    assertKnown(source, sender?.kinds);
    assertNoMoreArguments(rest);
    const count =
      numberOf(
        flags,
        "count",
        (value) => Number.isInteger(value) && value >= 1 && value <= 10_000,
        "a whole number from 1 to 10000",
      ) ?? 1;
    const session = openSession(flags);
    const send = chooseSend(source, session, sender, asString(flags.tenant));
    const request = {
      type,
      action: asString(flags.action),
      endpoint: asString(flags.endpoint),
      id: asString(flags.id),
    };
    let failureCount = 0;

    for (let sentCount = 0; sentCount < count; sentCount += 1) {
      const result = await send(request);
      const { status, body, hint } = result;
      if (status >= 300) failureCount += 1;
      if (flags.json) print(JSON.stringify({ status, ...body }));
      else print(describeResult(result));
      if (hint !== undefined && !flags.json && sentCount === count - 1) print(dim(`  ${hint}`));
    }
    if (failureCount > 0) process.exitCode = 1;
    else if (!flags.json) {
      const tenant = asString(flags.tenant);
      const sameHub = `${tenant === undefined ? "" : ` --tenant ${tenant}`}${sameHubFlags(session.settings)}`;
      print(dim(`  \`${program} events${sameHub}\` lists the events.`));
    }
  },
});

const DETAILS_OF_SENDER =
  "To act as the sender instead, set the secret in SIGNALBOX_SEND_SECRET, or give the URL of an endpoint\n" +
  "(--url http://HOST:PORT/webhooks/SOURCE): the command then signs the sample and posts it, without a token.";

function assertKnown(
  source: string | undefined,
  kinds: KnownKinds | undefined,
): asserts source is string {
  const names = kinds?.map(({ id }) => id).join(", ");
  if (source === undefined)
    throw new UsageError(
      `Missing argument SOURCE, ${names === undefined ? "such as github" : `one of: ${names}`}.`,
    );
  if (kinds && !kinds.some(({ id }) => id === source))
    throw new UsageError(`Unknown source "${source}". Known sources: ${names}.`);
}

interface SendRequest extends Sample {
  endpoint: string | undefined;
}

interface SendResult {
  status: number;
  /** The fix for a rejection. */
  hint?: string;
  /** The body of the response. */
  body: Record<string, unknown>;
  /** The delivery id. */
  delivery: unknown;
  /** The title of the source, if the hub has no secret for it. */
  unsigned?: string;
}

type Send = (request: SendRequest) => Promise<SendResult>;

/**
 * Returns a function that sends samples through the API of the hub. If the URL is that of an endpoint, if
 * SIGNALBOX_SEND_SECRET is set, or if there is no token, it posts them to the endpoint, as the sender does.
 */
function chooseSend(
  source: string,
  { settings, secretOf }: Session,
  sender: Sender | undefined,
  tenant: string | undefined,
): Send {
  const secret = readSecret(process.env, SECRET_VARIABLE);
  const location = locateHub(settings);
  const isEndpoint = new URL(location.url).pathname.includes("/webhooks/");
  const isThroughHub = !isEndpoint && secret === undefined;
  if (isThroughHub && (location.token !== undefined || !sender))
    return sendThroughHub(source, sender, createHubClient(location, { tenant }));
  if (!sender)
    throw new UsageError(
      isEndpoint
        ? "Only the hub's own program can act as a sender. Give the hub's address without /webhooks/…: the hub then signs the sample."
        : `Only the hub's own program can act as a sender. Unset ${SECRET_VARIABLE}: the hub then signs the sample.`,
    );
  const endpoint = isEndpoint
    ? location
    : { ...location, url: `${location.url}/webhooks/${source}` };
  return sendToEndpoint(source, sender, endpoint, secret ?? secretOf?.(source));
}

const sendThroughHub =
  (source: string, sender: Sender | undefined, hub: HubClient): Send =>
  async (request) => {
    sender?.checkSample(source, request);
    try {
      const body = await hub.post("/api/samples", { body: { source, ...request } });
      return {
        status: body.outcome === "stored" ? 202 : 200,
        body,
        delivery: body.delivery,
        ...(body.signed === false && { unsigned: await findTitle(source, sender, hub) }),
      };
    } catch (error) {
      if (!(error instanceof HubRequestFailed)) throw error;
      if (isRejection(error))
        return { status: error.status ?? 0, body: { ...error.problem }, delivery: undefined };
      // The fields of the request come from the command line. A sender has checked them before.
      if (error.code !== "invalid" || sender) throw error;
      throw new UsageError(error.problem.errors?.[0]?.message ?? error.message);
    }
  };

async function findTitle(
  source: string,
  sender: Sender | undefined,
  hub: HubClient,
): Promise<string> {
  const kinds = sender?.kinds ?? (await hub.get("/api/source-kinds")).items;
  return kinds.find(({ id }) => id === source)?.title ?? source;
}

/** True if the hub rejected the sample as a webhook, and not the request to its API. */
const isRejection = ({ status, code }: HubRequestFailed): boolean =>
  status !== undefined &&
  status !== 401 &&
  code !== undefined &&
  !["insufficient_scope", "no_tenant", "wrong_host", "not_found", "invalid"].includes(code);

const sendToEndpoint =
  (source: string, sender: Sender, location: HubLocation, secret: string | undefined): Send =>
  async ({ endpoint, ...sample }) => {
    if (endpoint !== undefined)
      throw new UsageError(
        "--endpoint needs a token of the hub. Without one, give the endpoint's URL with --url.",
      );
    const signed = await sender.signSample(source, sample, secret);
    const response = await fetch(location.url, {
      method: "POST",
      headers: signed.headers,
      body: new Uint8Array(signed.body),
    }).catch((error: unknown) => {
      throw noResponse(location, error);
    });
    const { status } = response;
    const body = parseBody(await response.text());
    return {
      status,
      body,
      delivery: signed.id,
      ...(status === 403 && { hint: hintFor(body.code) }),
    };
  };

/** Returns the fix if the hub rejects a sample that this command signed and posted. */
function hintFor(code: unknown): string {
  const throughHub =
    "the hub signs the sample if you run the command in the hub's folder, without --url and SIGNALBOX_SEND_SECRET.";
  return code === "address_not_allowed"
    ? `Send it through the hub: ${throughHub}`
    : `Set ${SECRET_VARIABLE} to the secret of the endpoint, or send it through the hub: ${throughHub}`;
}

function parseBody(body: string): Record<string, unknown> {
  if (body === "") return {};
  try {
    return JSON.parse(body) as Record<string, unknown>;
  } catch {
    return { answer: body };
  }
}

function describeResult({ status, body, delivery, unsigned }: SendResult): string {
  const { outcome, id, detail, answer } = body;
  if (status >= 300) return `${red("✗")} ${status} ${detail ?? answer ?? ""}`;
  // An empty response, which Slack requires, does not show whether the event was a duplicate.
  const event = dim(`${id ? `event ${id}, ` : ""}delivery ${delivery}`);
  const hint =
    unsigned === undefined
      ? ""
      : `\n${dim(`  Not signed: this hub has no secret for ${unsigned}.`)}`;
  return `${green("✓")} ${status} ${outcome ?? "accepted"}  ${event}${hint}`;
}
