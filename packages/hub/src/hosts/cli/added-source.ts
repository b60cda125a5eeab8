/** What `source add` prints: the endpoint, and what to do with its URL and secret at the sender. */
import type { SourceDefinition } from "../../ingest/source.ts";
import { table } from "./command.ts";
import { bold, dim, green } from "./style.ts";
import { wrap } from "./text-layout.ts";

export interface AddedSource {
  definition: Pick<SourceDefinition, "title" | "secret">;
  id: string;
  name: string;
  url: string;
  /** Undefined if the operator gave the secret. */
  generated: string | undefined;
  /** The command that sends a sample to the endpoint. */
  send: string;
  /** The command that replaces the secret with the one in the environment. */
  rotate: string;
  /** The running hub accepts unsigned webhooks, since it had no secret when it started. */
  acceptsUnsigned: boolean;
}

export function describeAdded(added: AddedSource): string {
  const { definition, id, name, url, generated, send, rotate, acceptsUnsigned } = added;
  const { title, secret } = definition;
  const isMissing = secret.issuedBy === "sender" && generated !== undefined;
  const owner = secret.issuedBy === "sender" ? `${title} issues the secret` : "The secret is yours";
  return [
    `${green("✓")} ${name}`,
    table([
      ["  URL", bold(url)],
      ["  Secret", secretText(isMissing, title, generated)],
      ["  Id", id],
    ]),
    "",
    ...wrap(`${owner}. ${secret.setup}`, 96).map((line) => `  ${line}`),
    ...(isMissing
      ? [
          `  Then store it here; until then the endpoint rejects ${title}'s webhooks:`,
          bold(`    SIGNALBOX_SOURCE_SECRET=… ${rotate}`),
        ]
      : []),
    ...(acceptsUnsigned
      ? [
          "",
          ...wrap(
            "From its next start on, the hub rejects webhooks at addresses without a key, unless their secret is set " +
              "(such as GITHUB_WEBHOOK_SECRET), or --allow-unsigned.",
            96,
          ).map((line) => `  ${line}`),
        ]
      : []),
    "",
    ...(generated ? [dim("  The secret is shown once.")] : []),
    dim(`  Try it: ${send}`),
  ].join("\n");
}

function secretText(isMissing: boolean, title: string, generated: string | undefined): string {
  if (generated === undefined) return "from the environment";
  return isMissing
    ? `${generated} ${dim(`(generated; replace it with ${title}'s)`)}`
    : bold(generated);
}
