import { githubSampleTypes } from "../../ingest/sources/github-sample.ts";
import { sources } from "../../ingest/sources/index.ts";
import { signSample } from "../../ingest/sources/signed-sample.ts";
import { createIds } from "../../lib/ids.ts";
import { nodeHmacKey } from "../node/hmac.ts";
import { loadSettings } from "../node/load-settings.ts";
import { localUrl, readSecret } from "../settings.ts";
import { type Command, Failure, numberOf, print, refuseMore, text, UsageError } from "./command.ts";
import { dim, green, red } from "./style.ts";

const SECRET_VARIABLE = "SIGNALBOX_SEND_SECRET";

export const send: Command = {
  name: "send",
  usage: "SOURCE [TYPE] [--action ACTION] [options]",
  summary: "post a signed sample webhook to a running hub",
  details:
    "The first event in ten seconds and without a tunnel: `signalbox send github issues --action opened`.\n" +
    "It is signed with the source's secret from the settings, as the real sender would; for an endpoint with a key,\n" +
    `give its URL with --url and its secret in the environment, ${SECRET_VARIABLE}.`,
  options: {
    action: { type: "string", value: "ACTION", help: "the sample's action, such as opened" },
    url: {
      type: "string",
      value: "URL",
      help: "the endpoint; default: the local hub's /webhooks/SOURCE",
    },
    id: { type: "string", value: "ID", help: "the delivery id; send it twice to see a duplicate" },
    count: { type: "string", value: "N", help: "how many to send (1)" },
    json: { type: "boolean", help: "print the answers as JSON lines" },
  },
  settings: ["host", "port", "secrets"],
  async run({ positionals, flags }) {
    const [id, type, ...rest] = positionals;
    const known = sources.map((source) => source.id).join(", ");
    if (id === undefined) throw new UsageError(`Which source? Known are: ${known}.`);
    const source = sources.find((candidate) => candidate.id === id);
    if (!source) throw new UsageError(`There is no source "${id}". Known are: ${known}.`);
    refuseMore(rest);
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
          `There is no sample of type "${type}" for ${source.title}.${source.id === "github" ? ` Known are: ${githubSampleTypes.join(", ")}.` : ""}`,
        );
      const { headers, body } = await signSample(source, sample, secret, {
        now: Date.now(),
        id: delivery,
        makeHmacKey: nodeHmacKey,
      });
      const response = await post(url, headers, body);
      const answer = await response.text();
      if (!response.ok) failed += 1;
      if (flags.json) print(JSON.stringify({ status: response.status, ...parsed(answer) }));
      else print(describe(response.status, answer, delivery));
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
    throw new Failure(
      `No hub answers at ${url} (${cause || "connection refused"}). Start one with \`signalbox serve\`, or name it with --url.`,
    );
  }
}

function parsed(answer: string): Record<string, unknown> {
  if (answer === "") return {};
  try {
    return JSON.parse(answer) as Record<string, unknown>;
  } catch {
    return { answer };
  }
}

function describe(status: number, answer: string, delivery: string): string {
  const { outcome, id, detail } = parsed(answer);
  // An empty answer, as Slack wants it, does not say whether it was stored or a duplicate.
  if (status < 300)
    return `${green("✓")} ${status} ${outcome ?? "accepted"}  ${dim(`${id ? `event ${id}, ` : ""}delivery ${delivery}`)}`;
  return `${red("✗")} ${status} ${detail ?? answer}`;
}
