import { expect, it } from "vitest";
import { sources } from "../../hub/src/events/sources/index.ts";
import { describeAddedSource } from "./added-source.ts";

const oneLine = (text: string) => text.replace(/\s+/g, " ");

it.each(sources)("explains for $id who issues the secret, and where to paste it", (definition) => {
  const rotateCommand = "npx signalbox source rotate id-1 --grace 0 --data /tmp/x";
  const added = {
    definition,
    id: "id-1",
    name: "Shop",
    url: "https://hub.example/webhooks/x/k",
    sendCommand: "npx signalbox send x --endpoint id-1",
    rotateCommand,
    acceptsUnsigned: false,
  };
  const generated = describeAddedSource({ ...added, generatedSecret: "secret-1" });
  expect(oneLine(generated)).toContain(definition.secret.setup);
  expect(generated).toContain("secret-1");
  expect(generated).toContain(`Send a sample: ${added.sendCommand}`);
  for (const line of generated.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  const isIssuedBySender = definition.secret.issuedBy === "sender";
  expect(generated.includes(`SIGNALBOX_SOURCE_SECRET=… ${rotateCommand}`)).toBe(isIssuedBySender);
  expect(oneLine(generated)).toContain(
    isIssuedBySender ? `${definition.title} issues the secret.` : "The secret is yours.",
  );
  const provided = describeAddedSource({ ...added, generatedSecret: undefined });
  expect(provided).toContain("from the environment");
  expect(provided).not.toContain("source rotate");
  expect(provided).not.toContain("next start");
  const unsigned = describeAddedSource({
    ...added,
    generatedSecret: undefined,
    acceptsUnsigned: true,
  });
  expect(oneLine(unsigned)).toMatch(/next start, the hub rejects .*GITHUB_WEBHOOK_SECRET/);
});
