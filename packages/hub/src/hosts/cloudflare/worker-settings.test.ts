import { expect, it } from "vitest";
import { readWorkerSettings } from "./worker-settings.ts";

const env = {
  SIGNALBOX_PUBLIC_URL: "https://hub.example",
  SIGNALBOX_KEY: Buffer.alloc(32).toString("base64"),
  SIGNALBOX_TOKEN: "the-token-of-the-operator",
  GITHUB_WEBHOOK_SECRET: "the-secret-of-github",
  TENANT_REGISTRY: {},
  WEBHOOK_STORE: {},
  WEBHOOK_MCP_AGENT: {},
  ASSETS: {},
};

it("a Worker is always public, and needs a URL, a key and a token", () => {
  expect(readWorkerSettings({ ...env })).toMatchObject({ isPublic: true, tenancy: "single" });
  for (const name of ["SIGNALBOX_PUBLIC_URL", "SIGNALBOX_KEY", "SIGNALBOX_TOKEN"])
    expect(() => readWorkerSettings({ ...env, [name]: "" })).toThrow(`This Worker needs ${name}`);
});

it("a Worker needs a webhook secret", () => {
  expect(() => readWorkerSettings({ ...env, GITHUB_WEBHOOK_SECRET: undefined })).toThrow(
    "This Worker needs GITHUB_WEBHOOK_SECRET",
  );
});

it("a Worker accepts the secret of another source instead of that of GitHub", () => {
  const { GITHUB_WEBHOOK_SECRET, ...others } = env;
  expect(
    readWorkerSettings({ ...others, STRIPE_WEBHOOK_SECRET: "the-secret-of-stripe" }).secrets,
  ).toMatchObject({ stripe: ["the-secret-of-stripe"] });
});

it.each([
  ["a short token", { SIGNALBOX_TOKEN: "short" }, "SIGNALBOX_TOKEN must have at least"],
  ["a short secret", { GITHUB_WEBHOOK_SECRET: "x" }, "Each secret of GITHUB_WEBHOOK_SECRET"],
  ["an App id without a private key", { GITHUB_APP_ID: "1" }, "GITHUB_APP_PRIVATE_KEY is not"],
])("a Worker rejects %s before an object starts", (_, wrong, message) => {
  expect(() => readWorkerSettings({ ...env, ...wrong })).toThrow(message);
});

it.each(["TENANT_REGISTRY", "WEBHOOK_STORE", "WEBHOOK_MCP_AGENT", "ASSETS"])(
  "a Worker needs the binding %s",
  (name) => {
    expect(() => readWorkerSettings({ ...env, [name]: undefined })).toThrow(
      `This Worker needs the binding ${name}`,
    );
  },
);
