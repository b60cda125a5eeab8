import { githubSampleTypes } from "../../ingest/sources/github-sample.ts";
import { sources } from "../../ingest/sources/index.ts";
import { signSample } from "../../ingest/sources/signed-sample.ts";
import { createIds } from "../../lib/ids.ts";
import { nodeHmacKey } from "../node/hmac.ts";
import { loadSettings } from "../node/load-settings.ts";
import { localUrl, readSecret } from "../settings.ts";
import {
  assertNoMoreArguments,
  type Command,
  CommandFailed,
  numberOf,
  print,
  text,
  UsageError,
} from "./command.ts";
import { dim, green, red } from "./style.ts";

const SECRET_VARIABLE = "SIGNALBOX_SEND_SECRET";

export const send: Command = {
  name: "send",
  usage: "SOURCE [TYPE] [--action ACTION] [options]",
  summary: "post a signed sample webhook to a running hub",
  details:
    "Try the hub without a tunnel: `signalbox send github issues --action opened`.\n" +
    "The sample is signed with the source's secret from the settings, like a real webhook. For an endpoint with a key,\n" +
    `give its URL with --url and its secret in the environment variable ${SECRET_VARIABLE}.`,
  options: {
    action: { type: "string", value: "ACTION", help: "the sample's action, such as opened" },
    url: {
      type: "string",
      value: "URL",
      help: "the endpoint (/webhooks/SOURCE of the local hub)",
    },
    id: { type: "string", value: "ID", help: "the delivery id; the same id twice is a duplicate" },
    count: { type: "string", value: "N", help: "the number of webhooks to send (1)" },
    json: { type: "boolean", help: "print the responses as JSON lines" },
  },
  settings: ["host", "port", "secrets"],
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
    const given = text(flags.url);
    if (given !== undefined && !/^https?:$/.test(URL.parse(given)?.protocol ?? ""))
      throw new UsageError("--url must be an http(s) URL.");

    const settings = loadSettings(flags);
    const url = given ?? `${localUrl(settings)}/webhooks/${source.id}`;
    const secret = readSecret(process.env, SECRET_VARIABLE) ?? settings.secrets[source.id]?.[0];
    const action = text(flags.action);
    const newId = createIds();
    let failed = 0;

    for (let sent = 0; sent < count; sent += 1) {
      const delivery = text(flags.id) ?? newId();
      const sample = source.sample(delivery, {
        ...(type === undefined ? {} : { type }),
        ...(action === undefined ? {} : { action }),
      });
      if (!sample)
        throw new UsageError(
          `There is no sample of type "${type}" for ${source.title}.${source.id === "github" ? ` Known types: ${githubSampleTypes.join(", ")}.` : ""}`,
        );
      const { headers, body } = await signSample(source, sample, secret, {
        now: Date.now(),
        id: delivery,
        makeHmacKey: nodeHmacKey,
      });
      const response = await post(url, headers, body);
      const responseBody = await response.text();
      if (!response.ok) failed += 1;
      if (flags.json)
        print(JSON.stringify({ status: response.status, ...parseBody(responseBody) }));
      else print(describe(response.status, responseBody, delivery));
    }
    if (failed > 0) process.exitCode = 1;
  },
};

async function post(
  url: string,
  headers: Record<string, string>,
  body: Uint8Array,
): Promise<Response> {
  try {
    return await fetch(url, { method: "POST", headers, body: new Uint8Array(body) });
  } catch (error) {
    const cause =
      error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    throw new CommandFailed(
      `No response from ${url} (${cause || "connection refused"}). Start a hub with \`signalbox serve\`, or give its address with --url.`,
    );
  }
}

function parseBody(body: string): Record<string, unknown> {
  if (body === "") return {};
  try {
    return JSON.parse(body) as Record<string, unknown>;
  } catch {
    return { answer: body };
  }
}

function describe(status: number, body: string, delivery: string): string {
  const { outcome, id, detail } = parseBody(body);
  // An empty response, which Slack requires, does not show whether the event was a duplicate.
  if (status < 300)
    return `${green("✓")} ${status} ${outcome ?? "accepted"}  ${dim(`${id ? `event ${id}, ` : ""}delivery ${delivery}`)}`;
  return `${red("✗")} ${status} ${detail ?? body}`;
}
