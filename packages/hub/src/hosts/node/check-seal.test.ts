import { expect, it } from "vitest";
import type { SourceEndpoint } from "../../events/endpoints/model.ts";
import { createSeal } from "../../kernel/lib/seal.ts";
import { readSettings } from "../../settings.ts";
import { assertKeyDecrypts, warnOfShortSecrets } from "./stored-secrets.ts";

const seal = createSeal(new Uint8Array(32).fill(1));
const otherSeal = createSeal(new Uint8Array(32).fill(2));

function createLog() {
  const lines: string[] = [];
  return { lines, log: { warn: (line: unknown) => void lines.push(String(line)) } };
}

it("accepts a key that decrypts the stored secrets, and any key for a database without secrets", async () => {
  const { lines, log } = createLog();
  const options = { acceptLostKey: false, log };
  await assertKeyDecrypts(seal, [], options);
  await assertKeyDecrypts(
    seal,
    [{ kind: "webhook secrets", sealed: await seal.seal("x") }],
    options,
  );
  expect(lines).toEqual([]);
});

it("rejects a key that decrypts no stored secret, unless the operator accepts that the key is lost", async () => {
  const { lines, log } = createLog();
  const samples = [{ kind: "webhook secrets", sealed: await otherSeal.seal("x") }];
  await expect(assertKeyDecrypts(seal, samples, { acceptLostKey: false, log })).rejects.toThrow(
    /does not decrypt the secrets in its database \(webhook secrets\).*SIGNALBOX_KEY.*--accept-lost-key/,
  );
  expect(lines).toEqual([]);
  await assertKeyDecrypts(seal, samples, { acceptLostKey: true, log });
  expect(lines).toHaveLength(1);
});

it("warns if some secrets were encrypted with another key", async () => {
  const { lines, log } = createLog();
  const samples = [
    { kind: "webhook secrets", sealed: await seal.seal("x") },
    { kind: "connections", sealed: await otherSeal.seal("x") },
  ];
  await assertKeyDecrypts(seal, samples, { acceptLostKey: false, log });
  expect(lines).toEqual([expect.stringContaining("some of the stored secrets: connections")]);
});

it("warns of short secrets, which keep working", async () => {
  const { lines, log } = createLog();
  const settings = readSettings({
    flags: {},
    env: { GITHUB_WEBHOOK_SECRET: "long enough for this, x" },
    file: {},
  });
  const endpoint = async (id: string, secret: string) =>
    ({ id, kind: "stripe", secrets: [{ sealed: await seal.seal(secret) }] }) as SourceEndpoint;
  const stored = [await endpoint("a", "0123456789ab"), await endpoint("b", "y")];
  await warnOfShortSecrets(settings, { store: { listSources: async () => stored }, seal, log });
  expect(lines).toEqual([
    "the webhook secret of github, stripe (endpoint b) must have at least 12 characters, since a short secret can be guessed. Create one with: openssl rand -hex 32",
  ]);
});
