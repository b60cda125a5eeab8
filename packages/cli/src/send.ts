import { RequestError } from "@signalbox/rules/request-error.ts";
import { readSecret } from "@signalbox/rules/settings.ts";
import type { SourceDefinition } from "../../hub/src/events/admit/source.ts";
import { sources } from "../../hub/src/events/sources/index.ts";
import { makeSample, signSample } from "../../hub/src/events/sources/signed-sample.ts";
import { nodeHmacKey } from "../../hub/src/hosts/node/hmac.ts";
import { loadSettings } from "../../hub/src/hosts/node/load-settings.ts";
import { createIds } from "../../hub/src/kernel/lib/ids.ts";
import type { Settings } from "../../hub/src/settings.ts";
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
import { dim, green, red } from "./style.ts";

const SECRET_VARIABLE = "SIGNALBOX_SEND_SECRET";

export const send: Command = {
  name: "send",
  usage: "SOURCE [TYPE] [--action ACTION] [options]",
  summary: "send a signed sample webhook to a running hub",
  details:
    "Try the hub without a tunnel: `npx signalbox send github issues --action opened`.\n" +
    "The hub signs the sample with its own secret, and stores it like a real webhook. For a hub on another machine, set\n" +
    "SIGNALBOX_URL and SIGNALBOX_TOKEN (an admin token).\n" +
    "To act as the sender instead, set the secret in SIGNALBOX_SEND_SECRET, or give the URL of an endpoint\n" +
    "(--url http://HOST:PORT/webhooks/SOURCE): the command then signs the sample and posts it, without a token.",
  options: {
    action: { type: "string", value: "ACTION", help: "the sample's action, such as opened" },
    endpoint: {
      type: "string",
      value: "ID",
      help: "an endpoint with a key; `npx signalbox source list` shows the ids",
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
  settings: ["url", "token", "data", "host", "port", "secrets"],
  async run({ positionals, flags }) {
    const [id, type, ...rest] = positionals;
    const knownSources = sources.map((source) => source.id).join(", ");
    if (id === undefined) throw new UsageError(`Missing argument SOURCE, one of: ${knownSources}.`);
    const source = sources.find((candidate) => candidate.id === id);
    if (!source) throw new UsageError(`Unknown source "${id}". Known sources: ${knownSources}.`);
    assertNoMoreArguments(rest);
    const count =
      numberOf(
        flags,
        "count",
        (value) => Number.isInteger(value) && value >= 1 && value <= 10_000,
        "a whole number from 1 to 10000",
      ) ?? 1;
    const settings = loadSettings(flags);
    const sendSample = chooseSendSample(source, settings, asString(flags.tenant));
    const variant = { type, action: asString(flags.action), endpoint: asString(flags.endpoint) };
    const newId = createIds();
    let failureCount = 0;

    for (let sentCount = 0; sentCount < count; sentCount += 1) {
      const deliveryId = asString(flags.id) ?? newId();
      const result = await sendSample({ ...variant, id: deliveryId }).catch(rethrowAsUsageError);
      const { status, body, hint } = result;
      if (status >= 300) failureCount += 1;
      if (flags.json) print(JSON.stringify({ status, ...body }));
      else print(describeResult(source, result, deliveryId));
      if (hint !== undefined && !flags.json && sentCount === count - 1) print(dim(`  ${hint}`));
    }
    if (failureCount > 0) process.exitCode = 1;
    else if (!flags.json) {
      const tenant = asString(flags.tenant);
      const sameHub = `${tenant === undefined ? "" : ` --tenant ${tenant}`}${sameHubFlags(settings)}`;
      print(dim(`  \`${program} events${sameHub}\` lists the events.`));
    }
  },
};

interface SampleOptions {
  type: string | undefined;
  action: string | undefined;
  /** The delivery id. */
  id: string;
  endpoint: string | undefined;
}

interface SendResult {
  status: number;
  /** The fix for a rejection. */
  hint?: string;
  /** The body of the response. */
  body: Record<string, unknown>;
}

type SendSample = (options: SampleOptions) => Promise<SendResult>;

/**
 * Returns a function that sends samples through the API of the hub. If the URL is that of an endpoint, if
 * SIGNALBOX_SEND_SECRET is set, or if there is no token, it posts them to the endpoint, as the sender does.
 */
function chooseSendSample(
  source: SourceDefinition,
  settings: Settings,
  tenant: string | undefined,
): SendSample {
  const secret = readSecret(process.env, SECRET_VARIABLE);
  const location = locateHub(settings);
  if (new URL(location.url).pathname.includes("/webhooks/"))
    return sendToEndpoint(source, location, secret ?? settings.secrets[source.id]?.[0]);
  if (secret === undefined && location.token !== undefined)
    return sendThroughHub(source, createHubClient(location, { tenant }));
  const endpoint = { ...location, url: `${location.url}/webhooks/${source.id}` };
  return sendToEndpoint(source, endpoint, secret ?? settings.secrets[source.id]?.[0]);
}

const sendThroughHub =
  (source: SourceDefinition, hub: HubClient): SendSample =>
  async (options) => {
    makeSample(source, options.id, options); // throws if the type is unknown
    try {
      const request = { source: source.id, ...options };
      const body = await hub.post("/api/samples", { body: request });
      return { status: body.outcome === "stored" ? 202 : 200, body };
    } catch (error) {
      if (!(error instanceof HubRequestFailed) || !isRejection(error)) throw error;
      return { status: error.status ?? 0, body: { ...error.problem } };
    }
  };

/** True if the hub rejected the sample as a webhook, and not the request to its API. */
const isRejection = ({ status, code }: HubRequestFailed): boolean =>
  status !== undefined &&
  status !== 401 &&
  code !== undefined &&
  !["insufficient_scope", "no_tenant", "wrong_host", "not_found", "invalid"].includes(code);

const sendToEndpoint =
  (source: SourceDefinition, location: HubLocation, secret: string | undefined): SendSample =>
  async ({ id, type, action, endpoint }) => {
    if (endpoint !== undefined)
      throw new UsageError(
        "--endpoint needs a token of the hub. Without one, give the endpoint's URL with --url.",
      );
    const sample = makeSample(source, id, { type, action });
    const now = Date.now();
    const signed = await signSample(source, sample, secret, { now, id, makeHmacKey: nodeHmacKey });
    const response = await fetch(location.url, {
      method: "POST",
      headers: signed.headers,
      body: new Uint8Array(signed.body),
    }).catch((error: unknown) => {
      throw noResponse(location, error);
    });
    const { status } = response;
    const body = parseBody(await response.text());
    return { status, body, ...(status === 403 && { hint: hintFor(body.code) }) };
  };

/** Returns the fix if the hub rejects a sample that this command signed and posted. */
function hintFor(code: unknown): string {
  const throughHub =
    "the hub signs the sample if you run the command in the hub's folder, without --url and SIGNALBOX_SEND_SECRET.";
  return code === "address_not_allowed"
    ? `Send it through the hub: ${throughHub}`
    : `Set ${SECRET_VARIABLE} to the secret of the endpoint, or send it through the hub: ${throughHub}`;
}

/** An unknown type of sample is a usage error. */
function rethrowAsUsageError(error: unknown): never {
  throw error instanceof RequestError ? new UsageError(error.message) : error;
}

function parseBody(body: string): Record<string, unknown> {
  if (body === "") return {};
  try {
    return JSON.parse(body) as Record<string, unknown>;
  } catch {
    return { answer: body };
  }
}

function describeResult(
  { title }: SourceDefinition,
  { status, body }: SendResult,
  deliveryId: string,
): string {
  const { outcome, id, detail, answer, signed } = body;
  if (status >= 300) return `${red("✗")} ${status} ${detail ?? answer ?? ""}`;
  // An empty response, which Slack requires, does not show whether the event was a duplicate.
  const event = dim(`${id ? `event ${id}, ` : ""}delivery ${deliveryId}`);
  const unsigned =
    signed === false ? `\n${dim(`  Not signed: this hub has no secret for ${title}.`)}` : "";
  return `${green("✓")} ${status} ${outcome ?? "accepted"}  ${event}${unsigned}`;
}
