import { generateKeyPairSync } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { effectiveSettings } from "./effective-settings.ts";
import { loadSettings } from "./hosts/node/load-settings.ts";
import { allowsUnsigned, assertSafe, hubSettings } from "./hub-settings.ts";
import type { SettingsInput } from "./kernel/settings.ts";
import { definitions, readSettings } from "./settings.ts";

const read = (input: Partial<SettingsInput> = {}) =>
  readSettings({ flags: {}, env: {}, file: {}, ...input });

describe("readSettings", () => {
  it("has the documented defaults", () => {
    expect(read()).toMatchObject({
      port: 4747,
      host: "127.0.0.1",
      data: ".signalbox",
      databaseUrl: "sqlite:",
      tenancy: "single",
      githubIpAllowlist: "auto",
      rateLimit: 100,
      isPublic: false,
      keepProcessedDays: 3,
      keepPendingDays: 90,
      eventsDraft: "on",
    });
  });

  it("allows outbound requests only to public addresses by default", () => {
    const allowPrivate = (value: string) =>
      read({ env: { SIGNALBOX_ALLOW_PRIVATE: value } }).allowPrivate;
    expect(read().allowPrivate).toBe(false);
    expect(["", "off", "false"].map(allowPrivate)).toEqual([false, false, false]);
    expect(["on", "true"].map(allowPrivate)).toEqual([true, true]);
    expect(allowPrivate("10.0.0.0/8, ::1")).toEqual(["10.0.0.0/8", "::1"]);
    expect(read({ file: { allowPrivate: ["127.0.0.1"] } }).allowPrivate).toEqual(["127.0.0.1"]);
    for (const wrong of ["yes", "10.0.0.0/33", "10.0.0.0/8,", "localhost"])
      expect(() => allowPrivate(wrong)).toThrow(/SIGNALBOX_ALLOW_PRIVATE must be on, off, or IP/);
  });

  it("accepts each default as `signalbox config` prints it", () => {
    const { origins } = read();
    const printed = effectiveSettings(origins).filter(({ value }) => value !== null);
    const env = Object.fromEntries(printed.map(({ variable, value }) => [variable, String(value)]));
    expect(env).toMatchObject({
      SIGNALBOX_ALLOW_PRIVATE: "off",
      SIGNALBOX_ALLOW_UNSIGNED: "false",
    });
    const readAgain = read({ env });
    for (const { name, value } of origins)
      expect(readAgain).toMatchObject(value === undefined ? {} : { [name]: value });
  });

  it("prefers flags to the environment, the environment to the file, and the file to the default", () => {
    const settings = read({
      flags: { port: "1" },
      env: { PORT: "2", HOST: "::1" },
      file: { port: 3, host: "x", data: "d" },
    });
    expect(settings).toMatchObject({ port: 1, host: "::1", data: "d" });
    const from = Object.fromEntries(settings.origins.map(({ name, from }) => [name, from]));
    expect(from).toMatchObject({
      port: "flag",
      host: "environment",
      data: "file",
      tenancy: "default",
    });
  });

  it("treats an empty variable as unset", () => {
    expect(
      read({ env: { PORT: " ", SIGNALBOX_KEEP_MB: "", GITHUB_WEBHOOK_SECRET: "" } }),
    ).toMatchObject({
      port: 4747,
      keepMegabytes: 8192,
      secrets: { github: [] },
    });
  });

  it("splits a comma-separated list of secrets", () => {
    expect(
      read({ env: { GITHUB_WEBHOOK_SECRET: "new, old", STANDARD_WEBHOOKS_WEBHOOK_SECRET: "s" } })
        .secrets,
    ).toMatchObject({
      github: ["new", "old"],
      "standard-webhooks": ["s"],
      stripe: [],
    });
  });

  it.each([
    [{ env: { PORT: "http" } }, /PORT must be a number/],
    [{ flags: { port: "70000" } }, /--port must be at most 65535, but is "70000"/],
    [{ file: { port: 1.5 } }, /"port" in signalbox.config.json must be a whole number/],
    [
      { env: { DATABASE_URL: "mysql://root:hunter2@x" } },
      /DATABASE_URL must start with sqlite: or postgres:/,
    ],
    [{ env: { SIGNALBOX_TENANCY: "many" } }, /must be one of single, github/],
    [{ env: { SIGNALBOX_PUBLIC_URL: "hub.example" } }, /must be an http\(s\) URL/],
    [{ env: { SIGNALBOX_KEY: "short" } }, /SIGNALBOX_KEY must be/],
    [{ env: { SIGNALBOX_PROXY_ADDRESSES: "everyone" } }, /must be IP addresses or networks/],
    [{ flags: { port: "" } }, /--port must be a number, but is ""/],
    [{ flags: { port: " " } }, /--port must be a number/],
    [{ env: { PORT: "0x10" } }, /PORT must be a number/],
    [{ env: { PORT: "1e3" } }, /PORT must be a number/],
    [{ file: { port: null } }, /"port" in signalbox.config.json must be a number, but is null/],
    [{ file: { port: true } }, /"port" in signalbox.config.json must be a number/],
    [{ env: { SIGNALBOX_KEEP_PENDING_DAYS: "0" } }, /must be above 0.*0\.5/],
    [{ file: { keepProcessedDays: null } }, /must be a number/],
    [{ env: { SIGNALBOX_KEEP_PENDING_DAYS: "1000000" } }, /must be at most 36500/],
    [{ env: { SIGNALBOX_MAX_CHAIN: "0" } }, /SIGNALBOX_MAX_CHAIN must be at least 1/],
    [{ env: { SIGNALBOX_MAX_LOOPS: "-1" } }, /SIGNALBOX_MAX_LOOPS must be at least 0/],
    [{ file: { host: " " } }, /"host" in signalbox.config.json must not be empty/],
    [{ file: { token: " ".repeat(20) } }, /"token" in signalbox.config.json must/],
    [{ env: { DATABASE_URL: "sqlite::memory:" } }, /DATABASE_URL must name a file/],
    [{ env: { DATABASE_URL: "sqlite://:memory:" } }, /DATABASE_URL must name a file/],
    [
      { file: { secrets: { stripe: [""] } } },
      /"secrets.stripe" in signalbox.config.json contains an empty secret/,
    ],
    [{ file: { secrets: { stripe: " , " } } }, /"secrets.stripe" .* contains an empty secret/],
    [{ file: { secrets: { stripe: [] } } }, /"secrets.stripe" .* contains an empty secret/],
    [{ env: { GITHUB_WEBHOOK_SECRET: " " } }, /GITHUB_WEBHOOK_SECRET contains an empty secret/],
    [{ env: { GITHUB_WEBHOOK_SECRET: "a,,b" } }, /GITHUB_WEBHOOK_SECRET contains an empty secret/],
    [{ file: { prot: 1 } }, /unknown setting "prot"/],
    [{ file: { secrets: { gihtub: "x" } } }, /unknown source "gihtub"/],
  ] as [Partial<SettingsInput>, RegExp][])("rejects %j", (input, message) => {
    expect(() => read(input)).toThrow(message);
  });

  it("accepts fractions of days, and numbers in the file", () => {
    expect(
      read({ env: { SIGNALBOX_KEEP_PENDING_DAYS: " 0.5 " }, file: { port: 1 } }),
    ).toMatchObject({
      keepPendingDays: 0.5,
      port: 1,
    });
  });

  it("does not print secrets in its errors", () => {
    expect(() => read({ env: { DATABASE_URL: "mysql://root:hunter2@x" } })).not.toThrow(/hunter2/);
  });

  it("reports all errors together", () => {
    expect(() => read({ env: { PORT: "x", SIGNALBOX_QUOTA: "-1" } })).toThrow(
      /PORT[\s\S]*SIGNALBOX_QUOTA/,
    );
  });
});

describe("a hub", () => {
  it.each([
    [{}, false],
    [{ HOST: "0.0.0.0" }, true],
    [{ HOST: "::" }, true],
    [{ SIGNALBOX_PUBLIC_URL: "https://hub.example" }, true],
    [{ HOST: "localhost" }, false],
  ])("with %o is public: %s", (env, isPublic) => {
    expect(read({ env }).isPublic).toBe(isPublic);
  });

  it.each([
    [{}, false],
    [{ SIGNALBOX_PUBLIC_URL: "https://hub.example" }, true],
    [{ HOST: "0.0.0.0" }, true],
    [{ HOST: "0.0.0.0", SIGNALBOX_METRICS: "open" }, false],
    [{ SIGNALBOX_METRICS: "token" }, true],
  ])("with %o needs a token for metrics: %s", (env, metricsNeedToken) => {
    expect(hubSettings(read({ env }), 0).metricsNeedToken).toBe(metricsNeedToken);
  });

  it("that is public does not start without a secret, or with --allow-unsigned", () => {
    expect(() => assertSafe(read({ env: { HOST: "0.0.0.0" } }), 0)).toThrow(
      /Set GITHUB_WEBHOOK_SECRET/,
    );
    expect(() =>
      assertSafe(read({ env: { HOST: "0.0.0.0" }, flags: { "allow-unsigned": true } }), 0),
    ).toThrow(/--allow-unsigned is for hubs that only this machine/);
    expect(() =>
      assertSafe(read({ env: { HOST: "0.0.0.0", GITHUB_WEBHOOK_SECRET: "long enough!" } }), 0),
    ).not.toThrow();
    expect(() =>
      assertSafe(read({ env: { HOST: "0.0.0.0", GITHUB_WEBHOOK_SECRET: "long enough!,x" } }), 0),
    ).toThrow(/Each secret of GITHUB_WEBHOOK_SECRET must have at least 12 characters/);
    expect(() => assertSafe(read({ env: { HOST: "0.0.0.0" } }), 1)).not.toThrow();
    expect(() => assertSafe(read(), 0)).not.toThrow();
  });

  it("that is public and has no secret is rejected with the name of the setting that makes it public", () => {
    const errorOf = (env: Record<string, string>) => {
      try {
        assertSafe(read({ env }), 0);
      } catch (error) {
        return String(error);
      }
      return "";
    };
    const publicUrlError = errorOf({ SIGNALBOX_PUBLIC_URL: "https://hub.example" });
    expect(publicUrlError).toMatch(
      /\(SIGNALBOX_PUBLIC_URL is set\).*local: unset SIGNALBOX_PUBLIC_URL\.$/,
    );
    const hostError = errorOf({ HOST: "0.0.0.0" });
    expect(hostError).toMatch(/\(HOST is 0\.0\.0\.0\).*local: listen on 127\.0\.0\.1 \(HOST\)\.$/);
  });

  it("does not start with an admin token of less than 16 characters, which a command may send", () => {
    const short = read({ env: { SIGNALBOX_TOKEN: "sbx_typo" } });
    expect(short.token).toBe("sbx_typo");
    expect(() => assertSafe(short, 0)).toThrow(/^SIGNALBOX_TOKEN must have at least 16/);
    // A header cannot contain the character "…".
    expect(() => read({ env: { SIGNALBOX_TOKEN: "sbx_…" } })).toThrow(/ASCII/);
  });

  it("accepts unsigned webhooks if it is local and uses SQLite, or if the operator allows them", () => {
    expect(allowsUnsigned(read(), 0)).toBe(true);
    expect(allowsUnsigned(read({ env: { DATABASE_URL: "postgres://x/y" } }), 0)).toBe(false);
    expect(
      allowsUnsigned(
        read({ env: { DATABASE_URL: "postgres://x/y" }, flags: { "allow-unsigned": true } }),
        0,
      ),
    ).toBe(true);
    expect(
      allowsUnsigned(read({ env: { HOST: "0.0.0.0" }, flags: { "allow-unsigned": true } }), 0),
    ).toBe(false);
  });

  it("rejects unsigned webhooks by default once any source has a secret", () => {
    for (const name of ["GITHUB_WEBHOOK_SECRET", "STRIPE_WEBHOOK_SECRET"])
      expect(allowsUnsigned(read({ env: { [name]: "s" } }), 0)).toBe(false);
    expect(allowsUnsigned(read(), 1)).toBe(false);
    const flags = { "allow-unsigned": true };
    expect(allowsUnsigned(read({ flags, env: { GITHUB_WEBHOOK_SECRET: "s" } }), 1)).toBe(true);
  });
});

it("the default quota is unlimited for a single tenant, and 10,000 pending events per GitHub account", () => {
  const quotaOf = (env: Record<string, string>) => hubSettings(read({ env }), 0).quota;
  expect(quotaOf({})).toBeNull();
  expect(quotaOf({ SIGNALBOX_TENANCY: "github" })).toBe(10_000);
  expect(quotaOf({ SIGNALBOX_TENANCY: "github", SIGNALBOX_QUOTA: "0" })).toBeNull();
  expect(quotaOf({ SIGNALBOX_QUOTA: "5" })).toBe(5);
});

it("documents signalbox.config.json with a valid example, and every setting", () => {
  const guide = readFileSync(new URL("../../../docs/operating.md", import.meta.url), "utf8");
  const [, example = ""] =
    /signalbox\.config\.json[\s\S]*?```json\n([\s\S]*?)```/.exec(guide) ?? [];
  const file = JSON.parse(example) as Record<string, unknown>;
  const settings = readSettings({ flags: {}, env: {}, file });
  expect(settings).toMatchObject({ port: 8080, isPublic: true });
  expect(settings.secrets.github).toHaveLength(2);
  for (const { env } of Object.values(definitions)) expect(guide).toContain(`\`${env}\``);
});

it("the guide to deployment names only settings that exist", () => {
  const guide = readFileSync(new URL("../../../docs/deploy.md", import.meta.url), "utf8");
  const known = new Set<string>(Object.values(definitions).map(({ env }) => env));
  const named = guide.match(/\b(?:SIGNALBOX|GITHUB)_[A-Z_]+\b/g) ?? [];
  const unknown = named.filter((name) => !known.has(name) && !name.endsWith("_WEBHOOK_SECRET"));
  expect(unknown).toEqual([]);
  const [, file = ""] = /signalbox\.env`[\s\S]*?```sh\n([\s\S]*?)```/.exec(guide) ?? [];
  const env = Object.fromEntries(
    file
      .trim()
      .split("\n")
      .map((line) => line.split("=")),
  );
  expect(read({ env })).toMatchObject({ isPublic: true, proxyHeader: "x-forwarded-for" });
  expect(() => assertSafe(read({ env }), 0)).not.toThrow();
});

describe("the settings of the GitHub App", () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const pem = privateKey.export({ type: "pkcs1", format: "pem" }) as string;
  const github = (env: Record<string, string>) => hubSettings(read({ env }), 0).github;

  it("has neither App nor client by default, and URLs without a slash at the end", () => {
    expect(github({ GITHUB_API_URL: "https://ghe.example/api/v3/" })).toEqual({
      url: "https://github.com",
      apiUrl: "https://ghe.example/api/v3",
    });
  });

  it("contains the interval of the checks for failed webhooks, or none if they are off", () => {
    const every = (env: Record<string, string>) => hubSettings(read({ env }), 0).redeliverEveryMs;
    expect(every({})).toBe(300_000);
    expect(every({ GITHUB_REDELIVERY: "30" })).toBe(1_800_000);
    expect(every({ GITHUB_REDELIVERY: "off" })).toBeUndefined();
    for (const wrong of ["0", "on", "1441", "1.5"])
      expect(() => every({ GITHUB_REDELIVERY: wrong })).toThrow("GITHUB_REDELIVERY must be ");
  });

  it("contains App and client, also with escaped line breaks and from a number in the file", () => {
    const escaped = pem.replaceAll("\n", "\\n");
    expect(
      github({
        GITHUB_APP_ID: "12",
        GITHUB_APP_PRIVATE_KEY: escaped,
        GITHUB_APP_SLUG: "my-app",
        GITHUB_CLIENT_ID: "Iv1.a",
        GITHUB_CLIENT_SECRET: "s",
      }),
    ).toMatchObject({
      app: { id: "12", privateKey: escaped },
      client: { id: "Iv1.a", secret: "s" },
      slug: "my-app",
    });
    expect(read({ file: { githubAppId: 12 } }).githubAppId).toBe("12");
  });

  it.each([
    [{ GITHUB_APP_ID: "12" }, "GITHUB_APP_ID is set, but GITHUB_APP_PRIVATE_KEY is not."],
    [{ GITHUB_APP_PRIVATE_KEY: pem }, "GITHUB_APP_PRIVATE_KEY is set, but GITHUB_APP_ID is not."],
    [{ GITHUB_CLIENT_ID: "a" }, "GITHUB_CLIENT_ID is set, but GITHUB_CLIENT_SECRET is not."],
    [
      { GITHUB_APP_ID: "1", GITHUB_APP_PRIVATE_KEY: "hello" },
      "GITHUB_APP_PRIVATE_KEY is not a private key in PEM format.",
    ],
  ])("rejects %o", (env, message) => {
    expect(() => github(env)).toThrow(message);
  });

  it("reads the private key from a file, and names the setting if it cannot", () => {
    const file = join(tempFolder(), "app.pem");
    writeFileSync(file, pem);
    onTestFinished(() => void vi.unstubAllEnvs());
    vi.stubEnv("GITHUB_APP_PRIVATE_KEY", file);
    expect(loadSettings({}).githubAppPrivateKey).toBe(pem);
    vi.stubEnv("GITHUB_APP_PRIVATE_KEY", `${file}.missing`);
    expect(() => loadSettings({})).toThrow(
      "GITHUB_APP_PRIVATE_KEY is neither PEM nor the path of a readable file (ENOENT).",
    );
  });

  it("is shown without the private key and the client secret", () => {
    const { origins } = read({
      env: { GITHUB_APP_PRIVATE_KEY: pem, GITHUB_CLIENT_SECRET: "hidden" },
    });
    const shown = effectiveSettings(origins);
    for (const name of ["githubAppPrivateKey", "githubClientSecret"])
      expect(shown.find((setting) => setting.name === name)?.value).toBe("(set)");
  });
});
