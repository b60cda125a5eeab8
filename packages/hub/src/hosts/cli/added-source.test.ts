import { expect, it } from "vitest";
import { sources } from "../../ingest/sources/index.ts";
import { describeAdded } from "./added-source.ts";

const oneLine = (text: string) => text.replace(/\s+/g, " ");

it.each(sources)("says for $id whose secret it is, and where it is pasted", (definition) => {
  const command = "npx signalbox source rotate id-1 --grace 0 --data /tmp/x";
  const added = {
    definition,
    id: "id-1",
    name: "Shop",
    url: "https://hub.example/webhooks/x/k",
    send: "npx signalbox send x --endpoint id-1",
    rotate: command,
    acceptsUnsigned: false,
  };
  const generated = describeAdded({ ...added, generated: "secret-1" });
  expect(oneLine(generated)).toContain(definition.secret.setup);
  expect(generated).toContain("secret-1");
  expect(generated).toContain(`Try it: ${added.send}`);
  for (const line of generated.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  const isTheirs = definition.secret.issuedBy === "sender";
  expect(generated.includes(`SIGNALBOX_SOURCE_SECRET=… ${command}`)).toBe(isTheirs);
  expect(oneLine(generated)).toContain(
    isTheirs ? `${definition.title} issues the secret.` : "The secret is yours.",
  );
  const given = describeAdded({ ...added, generated: undefined });
  expect(given).toContain("from the environment");
  expect(given).not.toContain("source rotate");
  expect(given).not.toContain("next start");
  const unsigned = describeAdded({ ...added, generated: undefined, acceptsUnsigned: true });
  expect(oneLine(unsigned)).toMatch(/next start on, the hub rejects .*GITHUB_WEBHOOK_SECRET/);
});
