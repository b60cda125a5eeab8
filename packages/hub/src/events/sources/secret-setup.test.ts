import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { secretVariable } from "../admit/source.ts";
import { sources } from "./index.ts";

const guide = readFileSync(new URL("../../../../../docs/webhooks.md", import.meta.url), "utf8");
const [, section = ""] = /^## Secrets$([\s\S]*?)^## /m.exec(guide) ?? [];
const rows = section
  .split("\n")
  .filter((line) => line.startsWith("| `"))
  .map((line) => line.split("|").map((cell) => cell.trim()));

it("docs/webhooks.md contains the setting and the setup of the secret of every source", () => {
  const documented = rows.map(([, source, setting, secret, where]) => [
    source,
    setting,
    secret,
    where,
  ]);
  const defined = sources.map(({ id, secret: { issuedBy, setup } }) => [
    `\`${id}\``,
    `\`${secretVariable(id)}\``,
    issuedBy === "sender" ? "theirs" : "yours",
    setup,
  ]);
  expect(documented.toSorted()).toEqual(defined.toSorted());
});
