/**
 * Formats the text that `source add` prints: the new endpoint, and what the operator must do with its URL
 * and its secret at the sender.
 */
import type { SourceKind } from "@signalbox/contract";
import { table } from "./command.ts";
import { bold, dim, green } from "./style.ts";
import { wrap } from "./text-layout.ts";

/** In columns. With the indentation, the lines fit into 100 columns. */
const TEXT_WIDTH = 96;

export interface AddedSource {
  kind: Pick<SourceKind, "title" | "secret">;
  id: string;
  name: string;
  url: string;
  /** The secret that the hub generated; undefined if the operator provided one. */
  generatedSecret: string | undefined;
  /** The command that sends a sample to the endpoint. */
  sendCommand: string;
  /** The command that replaces the secret with the one in the environment. */
  rotateCommand: string;
  /** Whether the running hub accepts unsigned webhooks, because it had no secret when it started. */
  acceptsUnsigned: boolean;
}

export function describeAddedSource(added: AddedSource): string {
  const { kind, id, name, url, generatedSecret, acceptsUnsigned } = added;
  const { title, secret } = kind;
  const isPlaceholder = secret.issued_by === "sender" && generatedSecret !== undefined;
  const issuer =
    secret.issued_by === "sender" ? `${title} issues the secret` : "The secret is yours";
  return [
    `${green("✓")} ${name}`,
    table([
      ["  URL", bold(url)],
      ["  Secret", describeSecret(isPlaceholder, title, generatedSecret)],
      ["  Id", id],
    ]),
    "",
    ...wrap(`${issuer}. ${secret.setup}`, TEXT_WIDTH).map((line) => `  ${line}`),
    ...(isPlaceholder
      ? [
          `  Then store the secret in the hub; until then, it rejects ${title}'s webhooks:`,
          bold(`    SIGNALBOX_SOURCE_SECRET=… ${added.rotateCommand}`),
        ]
      : []),
    ...(acceptsUnsigned
      ? [
          "",
          ...wrap(
            "After its next start, the hub rejects webhooks to the endpoints without a key. To accept them, set the secret " +
              "of the source, such as GITHUB_WEBHOOK_SECRET, or start the hub with --allow-unsigned.",
            TEXT_WIDTH,
          ).map((line) => `  ${line}`),
        ]
      : []),
    "",
    ...(generatedSecret ? [dim("  The secret is shown only once.")] : []),
    dim(`  Send a sample: ${added.sendCommand}`),
  ].join("\n");
}

function describeSecret(
  isPlaceholder: boolean,
  title: string,
  generatedSecret: string | undefined,
): string {
  if (generatedSecret === undefined) return "from the environment";
  return isPlaceholder
    ? `${generatedSecret} ${dim(`(generated; replace it with the secret of ${title})`)}`
    : bold(generatedSecret);
}
