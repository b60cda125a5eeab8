import { describeAddedSource } from "@signalbox/cli/src/added-source.ts";
import { expect, it } from "vitest";
import { sender } from "./sender.ts";

const oneLine = (text: string) => text.replace(/\s+/g, " ");

it.each(sender.kinds)("explains for $id who issues the secret, and where to paste it", (kind) => {
  const rotateCommand = "npx signalbox source rotate id-1 --grace 0 --data /tmp/x";
  const added = {
    kind,
    id: "id-1",
    name: "Shop",
    url: "https://hub.example/webhooks/x/k",
    sendCommand: "npx signalbox send x --endpoint id-1",
    rotateCommand,
    acceptsUnsigned: false,
  };
  const generated = describeAddedSource({ ...added, generatedSecret: "secret-1" });
  expect(oneLine(generated)).toContain(kind.secret.setup);
  expect(generated).toContain("secret-1");
  expect(generated).toContain(`Send a sample: ${added.sendCommand}`);
  for (const line of generated.split("\n")) expect(line.length).toBeLessThanOrEqual(100);
  const isIssuedBySender = kind.secret.issued_by === "sender";
  expect(generated.includes(`SIGNALBOX_SOURCE_SECRET=… ${rotateCommand}`)).toBe(isIssuedBySender);
  expect(oneLine(generated)).toContain(
    isIssuedBySender ? `${kind.title} issues the secret.` : "The secret is yours.",
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
