import { sources } from "../../ingest/sources/index.ts";
import { signSample } from "../../ingest/sources/signed-sample.ts";
import { createIds } from "../../lib/ids.ts";
import { nodeHmacKey } from "../node/hmac.ts";
import { loadSettings } from "../node/load-settings.ts";
import { type Command, print, text, UsageError } from "./command.ts";
import { dim, green, red } from "./style.ts";

export const send: Command = {
  name: "send",
  usage: "SOURCE [TYPE] [--action ACTION] [options]",
  summary: "post a signed sample webhook to a running hub",
  details:
    "The first event in ten seconds and without a tunnel: `signalbox send github issues --action opened`.\n" +
    "It is signed with the source's secret from the settings, as the real sender would.",
  options: {
    action: { type: "string", value: "ACTION", help: "the sample's action, such as opened" },
    url: {
      type: "string",
      value: "URL",
      help: "the endpoint; default: the local hub's /webhooks/SOURCE",
    },
    secret: {
      type: "string",
      value: "SECRET",
      help: "sign with this instead of the configured secret",
    },
    id: { type: "string", value: "ID", help: "the delivery id; send it twice to see a duplicate" },
    count: { type: "string", value: "N", help: "how many to send (1)" },
    json: { type: "boolean", help: "print the answers as JSON lines" },
  },
  takesSettings: true,
  async run({ positionals, flags }) {
    const [id, type, ...rest] = positionals;
    const known = sources.map((source) => source.id).join(", ");
    if (id === undefined) throw new UsageError(`Which source? Known are: ${known}.`);
    const source = sources.find((candidate) => candidate.id === id);
    if (!source) throw new UsageError(`There is no source "${id}". Known are: ${known}.`);
    if (rest.length > 0) throw new UsageError(`"${rest.join(" ")}" is too much.`);
    const count = Number(text(flags.count) ?? 1);
    if (!Number.isInteger(count) || count < 1 || count > 10_000)
      throw new UsageError("--count must be a whole number from 1 to 10000.");

    const settings = loadSettings(flags);
    const local = `http://${settings.host.includes(":") ? `[${settings.host}]` : settings.host}:${settings.port}`;
    const url = text(flags.url) ?? `${local}/webhooks/${source.id}`;
    const secret = text(flags.secret) ?? settings.secrets[source.id]?.[0];
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
        throw new UsageError(`There is no sample of type "${type}" for ${source.title}.`);
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
    throw new UsageError(
      `No hub answers at ${url} (${cause || "connection refused"}). Start one with \`signalbox serve\`, or name it with --url.`,
    );
  }
}

function parsed(answer: string): Record<string, unknown> {
  try {
    return JSON.parse(answer) as Record<string, unknown>;
  } catch {
    return { answer };
  }
}

function describe(status: number, answer: string, delivery: string): string {
  const { outcome, id, detail } = parsed(answer);
  if (status < 300)
    return `${green("✓")} ${status} ${outcome ?? ""} ${dim(`event ${id ?? "–"}, delivery ${delivery}`)}`;
  return `${red("✗")} ${status} ${detail ?? answer}`;
}
