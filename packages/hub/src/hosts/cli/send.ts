import type { SourceDefinition } from "../../ingest/source.ts";
import { sources } from "../../ingest/sources/index.ts";
import { makeSample, signSample } from "../../ingest/sources/signed-sample.ts";
import { createIds } from "../../lib/ids.ts";
import { RequestError } from "../../lib/request-error.ts";
import { nodeHmacKey } from "../node/hmac.ts";
import { loadSettings } from "../node/load-settings.ts";
import { readSecret, type Settings } from "../settings.ts";
import {
  assertNoMoreArguments,
  type Command,
  numberOf,
  print,
  text,
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
    "(--url http://HOST:PORT/webhooks/SOURCE): the sample is signed here and posted, without a token.",
  options: {
    action: { type: "string", value: "ACTION", help: "the sample's action, such as opened" },
    endpoint: {
      type: "string",
      value: "ID",
      help: "an endpoint with a key; `npx signalbox source list` shows the ids",
    },
    tenant: { type: "string", value: "ID", help: "the tenant of the event (single: local)" },
    id: { type: "string", value: "ID", help: "the delivery id; the same id twice is a duplicate" },
    count: { type: "string", value: "N", help: "the number of webhooks to send (1)" },
    json: { type: "boolean", help: "print the responses as JSON lines" },
  },
  settings: ["url", "token", "data", "host", "port", "secrets"],
  async run({ positionals, flags }) {
    const [id, type, ...rest] = positionals;
    const known = sources.map((source) => source.id).join(", ");
    if (id === undefined) throw new UsageError(`Missing argument SOURCE, one of: ${known}.`);
    const source = sources.find((candidate) => candidate.id === id);
    if (!source) throw new UsageError(`Unknown source "${id}". Known sources: ${known}.`);
    assertNoMoreArguments(rest);
    const count =
      numberOf(
        flags,
        "count",
        (value) => Number.isInteger(value) && value >= 1 && value <= 10_000,
        "a whole number from 1 to 10000",
      ) ?? 1;
    const settings = loadSettings(flags);
    const sendOne = senderFor(source, settings, text(flags.tenant));
    const variant = { type, action: text(flags.action), endpoint: text(flags.endpoint) };
    const newId = createIds();
    let failed = 0;

    for (let sent = 0; sent < count; sent += 1) {
      const delivery = text(flags.id) ?? newId();
      const { status, answer, hint } = await sendOne({ ...variant, id: delivery }).catch(asUsage);
      if (status >= 300) failed += 1;
      if (flags.json) print(JSON.stringify({ status, ...answer }));
      else print(describe(source, status, answer, delivery));
      if (hint !== undefined && !flags.json && sent === count - 1) print(dim(`  ${hint}`));
    }
    if (failed > 0) process.exitCode = 1;
    else if (!flags.json) {
      const tenant = text(flags.tenant);
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

interface Sent {
  status: number;
  /** What to do about a rejection. */
  hint?: string;
  /** The body of the response. */
  answer: Record<string, unknown>;
}

type SendOne = (options: SampleOptions) => Promise<Sent>;

/** Through the hub if the command has a token for it, else as the sender would. */
function senderFor(
  source: SourceDefinition,
  settings: Settings,
  tenant: string | undefined,
): SendOne {
  const secret = readSecret(process.env, SECRET_VARIABLE);
  const location = locateHub(settings);
  if (new URL(location.url).pathname.includes("/webhooks/"))
    return posting(source, location, secret ?? settings.secrets[source.id]?.[0]);
  if (secret === undefined && location.token !== undefined)
    return throughHub(source, createHubClient(location, { tenant }));
  const endpoint = { ...location, url: `${location.url}/webhooks/${source.id}` };
  return posting(source, endpoint, secret ?? settings.secrets[source.id]?.[0]);
}

const throughHub =
  (source: SourceDefinition, hub: HubClient): SendOne =>
  async (options) => {
    makeSample(source, options.id, options); // an unknown type is an invalid command line
    try {
      const body = { source: source.id, ...options };
      const answer = await hub.request<Sent["answer"]>("POST", "/api/samples", { body });
      return { status: answer.outcome === "stored" ? 202 : 200, answer };
    } catch (error) {
      if (!(error instanceof HubRequestFailed) || !isRejection(error)) throw error;
      return { status: error.status ?? 0, answer: { ...error.problem } };
    }
  };

/** Whether the hub rejected the webhook, and not the request of this command. */
const isRejection = ({ status, code }: HubRequestFailed): boolean =>
  status !== undefined &&
  status !== 401 &&
  code !== undefined &&
  !["insufficient_scope", "no_tenant", "wrong_host", "not_found", "invalid"].includes(code);

const posting =
  (source: SourceDefinition, endpoint: HubLocation, secret: string | undefined): SendOne =>
  async ({ id, type, action, endpoint: key }) => {
    if (key !== undefined)
      throw new UsageError(
        "--endpoint needs a token of the hub. Without one, give the endpoint's URL with --url.",
      );
    const sample = makeSample(source, id, { type, action });
    const now = Date.now();
    const signed = await signSample(source, sample, secret, { now, id, makeHmacKey: nodeHmacKey });
    const { headers, body } = signed;
    const response = await fetch(endpoint.url, {
      method: "POST",
      headers,
      body: new Uint8Array(body),
    }).catch((error: unknown) => {
      throw noResponse(endpoint, error);
    });
    const { status } = response;
    const answer = parseBody(await response.text());
    return { status, answer, ...(status === 403 && { hint: hintFor(answer.code) }) };
  };

/** For a sample that this command signed and posted. */
function hintFor(code: unknown): string {
  const throughTheHub =
    "in the hub's folder, without --url and SIGNALBOX_SEND_SECRET, the hub signs the sample itself.";
  return code === "address_not_allowed"
    ? `Send it through the hub: ${throughTheHub}`
    : `Set ${SECRET_VARIABLE} to the secret of the endpoint, or send it through the hub: ${throughTheHub}`;
}

function asUsage(error: unknown): never {
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

function describe(
  { title }: SourceDefinition,
  status: number,
  { outcome, id, detail, answer, signed }: Sent["answer"],
  delivery: string,
): string {
  if (status >= 300) return `${red("✗")} ${status} ${detail ?? answer ?? ""}`;
  // An empty response, which Slack requires, does not show whether the event was a duplicate.
  const event = dim(`${id ? `event ${id}, ` : ""}delivery ${delivery}`);
  const unsigned =
    signed === false ? `\n${dim(`  Not signed: this hub has no secret for ${title}.`)}` : "";
  return `${green("✓")} ${status} ${outcome ?? "accepted"}  ${event}${unsigned}`;
}
