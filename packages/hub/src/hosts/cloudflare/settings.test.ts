import { expect, it } from "vitest";
import { readWorkerSettings } from "./settings.ts";

const env = {
  SIGNALBOX_PUBLIC_URL: "https://hub.example",
  SIGNALBOX_KEY: Buffer.alloc(32).toString("base64"),
  SIGNALBOX_TOKEN: "the-token-of-the-operator",
  TENANT_REGISTRY: {},
  WEBHOOK_STORE: {},
  WEBHOOK_MCP_AGENT: {},
  ASSETS: {},
};

it("is always public, and needs a URL, a key and a token", () => {
  expect(readWorkerSettings({ ...env })).toMatchObject({ isPublic: true, tenancy: "single" });
  for (const name of ["SIGNALBOX_PUBLIC_URL", "SIGNALBOX_KEY", "SIGNALBOX_TOKEN"])
    expect(() => readWorkerSettings({ ...env, [name]: "" })).toThrow(`This Worker needs ${name}`);
});

it.each(["TENANT_REGISTRY", "WEBHOOK_STORE", "WEBHOOK_MCP_AGENT", "ASSETS"])(
  "needs the binding %s",
  (name) => {
    expect(() => readWorkerSettings({ ...env, [name]: undefined })).toThrow(
      `This Worker needs the binding ${name}`,
    );
  },
);
