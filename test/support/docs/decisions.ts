/**
 * How each code block of the documentation is checked: a function that runs it, or the reason why no test runs
 * it. The key is the first line of the block. Blocks of JSON are not listed: all of them are parsed.
 */
import { generateKeyPairSync } from "node:crypto";
import {
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { fixedPort } from "../fixed-port.ts";
import { startHubProcess } from "../hub-process.ts";
import { WAIT } from "../timeouts.ts";
import type { Block } from "./blocks.ts";
import { ROOT, type ShellOptions, type World } from "./world.ts";

type Check = (block: Block, world: World) => Promise<void> | void;
/** `check` runs on Linux, if the program is installed. */
type Decision = Check | { notRun: string } | { program: string; check: Check };

const notRun = (reason: string): Decision => ({ notRun: reason });
/** Another test reads the block from the page, and checks it. */
const testedIn =
  (test: string): Check =>
  ({ page }) => {
    expect(readFileSync(join(ROOT, test), "utf8")).toContain(page.replace("docs/", ""));
  };

interface RunOptions extends ShellOptions {
  /** Replaces placeholders of the page, and commands that wait for a person or for events. */
  replace?: Record<string, string | ((world: World) => string | Promise<string>)>;
  /** Something that the output contains. */
  prints?: RegExp;
  before?: (world: World) => unknown;
  after?: (world: World) => unknown;
}

const run =
  ({ replace = {}, prints, before, after, ...shell }: RunOptions = {}): Check =>
  async (block, world) => {
    await before?.(world);
    let script = block.text;
    for (const [shown, value] of Object.entries(replace)) {
      expect(script).toContain(shown);
      script = script.replaceAll(shown, typeof value === "string" ? value : await value(world));
    }
    world.lastOutput = await world.shell(world.substitute(script), { page: block.page, ...shell });
    // A command that fails only in part prints a line with a cross.
    expect(world.lastOutput).not.toMatch(/^✗/m);
    if (prints) expect(world.lastOutput).toMatch(prints);
    await after?.(world);
  };

/** Runs a block that starts a hub, with the page's address and its own data folder. */
const startsHub =
  (replace: Record<string, string> = {}, { cwd }: { cwd?: string } = {}): Check =>
  async ({ page, text, line }, world) => {
    let script = text.replaceAll("…", "0123456789abcdef");
    for (const [shown, value] of Object.entries(replace)) script = script.replaceAll(shown, value);
    const data = join(world.home, `data-${page.replaceAll("/", "-")}-${line}`);
    await world.shell(script, {
      env: { PORT: "0", SIGNALBOX_DATA: data, GITHUB_API_URL: "http://127.0.0.1:1" },
      ...(cwd && { cwd }),
      until: /^ *Open +http/m,
    });
  };

/** The list of addresses that the hub contains. */
const GITHUB_RANGES = join(ROOT, "packages/hub/src/events/admit/github-ranges.json");
const GITHUB_HOOKS: string[] = JSON.parse(readFileSync(GITHUB_RANGES, "utf8")).hooks;

const needs = (program: string, check: Check): Decision => ({ program, check });

/** Checks a systemd unit: its programs must exist, so Node replaces `/usr/bin/node`. */
const isUnit =
  (name: string): Check =>
  async ({ text }, world) => {
    expect(text).toContain("ExecStart=/usr/bin/node ");
    const file = join(world.home, name);
    writeFileSync(file, text.replace("/usr/bin/node", process.execPath));
    // It reports unknown settings on stderr, and exits with 0.
    expect(await world.shell(`systemd-analyze verify '${file}' 2>&1`)).toBe("");
  };

/** Checks a server block of nginx, with a certificate that exists and without the privileged port. */
const loadsInNginx: Check = async ({ text }, world) => {
  const config = text
    .replaceAll("/etc/letsencrypt/live/hub.example.com", world.home)
    .replace("listen 443", `listen ${await fixedPort()}`);
  const file = join(world.home, "nginx.conf");
  writeFileSync(file, `events {}\nhttp {\naccess_log off;\n${config}}\n`);
  await world.shell(
    `cd '${world.home}'
    openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=hub -keyout privkey.pem -out fullchain.pem
    nginx -t -e stderr -g "pid $PWD/nginx.pid;" -p "$PWD" -c '${file}'`,
  );
};

const DATA_FOLDER = ({ home }: World) => join(home, "deployed");
const BACKUP_PATHS = {
  "/var/lib/signalbox": DATA_FOLDER,
  "/backup": ({ home }: World) => join(home, "backup"),
};
/** The folder belongs to another user if this process can change the owner. */
const makeDataFolder = async (world: World) => {
  const data = DATA_FOLDER(world);
  await world.shell("npx signalbox source add github", { env: { SIGNALBOX_DATA: data } });
  if (process.geteuid?.() === 0) chownSync(data, 65_534, 65_534);
};
const replaceDatabase = (world: World) => {
  for (const file of ["signalbox.db", "key"]) {
    expect(statSync(join(world.home, "backup", file)).mode & 0o777).toBe(0o600);
    writeFileSync(join(DATA_FOLDER(world), file), "damaged");
  }
};
const isRestored = async (world: World) => {
  const data = DATA_FOLDER(world);
  for (const file of ["signalbox.db", "key"]) {
    const { mode, uid } = statSync(join(data, file));
    expect([mode & 0o777, uid]).toEqual([0o600, statSync(data).uid]);
  }
  const sources = await world.shell("npx signalbox source list --json", {
    env: { SIGNALBOX_DATA: data },
  });
  expect(JSON.parse(sources)).toHaveLength(1);
};

/** Compiles the block, after code that declares what the page has introduced in sentences. */
const compiles =
  (declarations: string): Check =>
  async ({ page, line, text }, world) => {
    const file = `block-${page.replaceAll("/", "-").replace(".md", "")}-${line}.ts`;
    const imports = text.match(/^import .*\n/gm)?.join("") ?? "";
    const code = text.replaceAll(/^import .*\n/gm, "");
    writeFileSync(join(world.cwd, file), `${imports}${declarations}${code}`);
    const options =
      "--noEmit --strict --module nodenext --target es2023 --skipLibCheck --types node";
    await world.shell(`tsc ${options} --ignoreConfig ${file}`);
  };
const MCP_SERVER = `
import { McpServer } from "@modelcontextprotocol/server";
declare const server: McpServer;
declare const connectionId: string;
`;
const DEFINITIONS = `
import { createTriggers, type Subscription, type TriggerDefinition } from "@signalbox/triggers";
declare const definitions: TriggerDefinition[];
`;
const TRIGGERS = `${DEFINITIONS}
declare const triggers: ReturnType<typeof createTriggers<TriggerDefinition[]>>;
declare function watch(subscription: Subscription): void;
`;

/** Compares the block with the output of the block before it. */
const isOutput: Check = ({ text }, world) => {
  expect(text).toBe(withoutIds(world.unsubstitute(world.lastOutput), text));
};

const ID = /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}\b|\b0[0-9a-f]{3}…/g;
const CONNECTION = /\bweather-[0-9a-z]{6}\b/g;
/** Replaces the ids in the output with those of the page. */
function withoutIds(output: string, page: string): string {
  return [ID, CONNECTION].reduce((result, pattern) => {
    const [shown = ""] = page.match(pattern) ?? [];
    return result.replaceAll(pattern, shown);
  }, output);
}

/** Checks that the settings in the block are valid. */
const areSettings: Check = async ({ text }, world) => {
  const data = join(world.home, "no-hub");
  const output = await world.shell(`${text}\nnpx signalbox config --json`, {
    env: { SIGNALBOX_DATA: data },
  });
  const settings = Object.values(JSON.parse(output)) as { env: string; from: string }[];
  const set = settings.filter(({ from }) => from === "environment").map(({ env }) => env);
  for (const [, name] of text.matchAll(/(?:^| )([A-Z_]+)=/gm)) expect(set).toContain(name);
};

/** Sends a block `METHOD /path`, with headers and a JSON body, to the hub. */
const isRequest =
  (replace: Record<string, (world: World) => string | Promise<string>> = {}): Check =>
  async ({ text }, world) => {
    let request = text;
    for (const [shown, value] of Object.entries(replace)) {
      expect(request).toContain(shown);
      request = request.replaceAll(shown, await value(world));
    }
    const [, method = "", path = "", rest = ""] =
      /^(\w+) (\S+)\n([\s\S]*)$/.exec(world.substitute(request)) ?? [];
    const token = /^Authorization: Bearer (.*)$/m.exec(rest)?.[1];
    const body = rest.slice(rest.indexOf("{"));
    const response = await world.request(method, path, body, token);
    world.lastOutput = `${response.status} ${toPageJson(response.body)}\n`;
    expect(response.status, world.lastOutput).toBeLessThan(300);
  };
/** The pages write JSON in one line, with spaces. */
const toPageJson = (value: object) =>
  `{ ${Object.entries(value)
    .map(([key, member]) => `${JSON.stringify(key)}: ${JSON.stringify(member)}`)
    .join(", ")} }`;

/** Runs a recipe for the sample of an event, and checks what its agent gets. */
const isRecipe = (agent: string, event: string): Check =>
  run({
    before: async (world) => {
      rmSync(join(world.home, `${agent}.stdin`), { force: true });
      await world.shell(`npx signalbox send github ${event}`);
    },
    replace: { "signalbox exec ": "signalbox exec --once " },
    after: ({ home }) => {
      const stdin = readFileSync(join(home, `${agent}.stdin`), "utf8");
      expect(JSON.parse(stdin)).toMatchObject({ source: "github", type: event });
    },
  });

const runsTriage = run({
  before: ({ home }) => {
    mkdirSync(join(home, "agent"), { recursive: true });
    writeFileSync(join(home, "agent/triage.sh"), "#!/bin/sh\n", { mode: 0o755 });
  },
  replace: { "@signalbox/cli exec": "@signalbox/cli exec --once" },
});
const claudeMcpAdd = notRun("needs Claude Code");
const newestSource = async (world: World) => {
  const { body } = await world.request("GET", "/api/sources");
  return body.items[0].id as string;
};
const connectionId = async ({ request }: World) => {
  const { body } = await request("GET", "/api/connections");
  const items = body.items as { id: string; name: string; status: string }[];
  return items.find(({ name, status }) => name === "weather" && status === "ok")?.id ?? "";
};

export const decisions: Record<string, Record<string, Decision>> = {
  "CONTRIBUTING.md": {
    "export const lampApi = {": notRun("is a template"),
    "export const createLampPart = ({ store, ports }: Kernel, { tokens }: TokensPart): Part => {":
      notRun("is a template"),
    "visits: {": notRun("is a template"),
    "/** The newest visits. */": notRun("is a template"),
  },
  "README.md": {
    "npm install && npm start": startsHub(
      // The checkout is installed and built already.
      { "npm install && npm start": "npm start --ignore-scripts" },
      { cwd: ROOT },
    ),
    "npx signalbox send github issues --action opened": run({ prints: /issues.*opened/ }),
    "npx signalbox connection add weather https://weather.example/mcp": run({ prints: /^✓/ }),
    "webhook ─▶ events/ (admit, match, commit) ─┬─▶ inbox, live streams ─▶ mcp/, HTTP API, deliveries ─▶ agents":
      notRun("is a picture"),
    "packages/": ({ text }) => {
      const folders: string[] = [];
      for (const [, indent = "", name = ""] of text.matchAll(/^( *)(\S+)/gm)) {
        folders.splice(indent.length / 2, folders.length, name);
        expect(existsSync(join(ROOT, ...folders)), folders.join("")).toBe(true);
      }
    },
    "export const lamp = defineSource({": notRun("is abbreviated"),
    "npm install && npm test": notRun("runs this test"),
  },
  "docs/agents.md": {
    "claude mcp add --transport http signalbox http://127.0.0.1:4747/mcp": claudeMcpAdd,
    "claude mcp add --transport http signalbox 'http://127.0.0.1:4747/mcp?tools=inbox'":
      claudeMcpAdd,
    "curl -N -H \"Authorization: Bearer $TOKEN\" 'http://127.0.0.1:4747/events?type=issues'": run({
      replace: { "curl -N": "curl -sS -i -N" },
      until: /^content-type: text\/event-stream/im,
    }),
    "curl -sS -o hub.json http://127.0.0.1:4747/api/openapi.json": run({
      after: ({ cwd }) => expect(existsSync(join(cwd, "hub-client/index.ts"))).toBe(true),
    }),
  },
  "docs/benchmarks.md": {
    "npm run bench -- all            # start, ingest, callbacks, reads, agents, flows, connections, memory; about 50 minutes":
      notRun("takes minutes"),
    "npm run bench -- soak                              # ten minutes of attacks on SQLite, then on PostgreSQL":
      notRun("takes minutes"),
  },
  "docs/callbacks.md": {
    "POST /api/trigger-callback": isRequest({
      "sbcb_…": ({ weather }) => String(weather.configured.at(-1)?.callbackToken),
    }),
    '202 { "ok": true, "type": "weather.sun", "id": "0198…", "outcome": "stored" }': isOutput,
  },
  "docs/claude-code.md": {
    "npm install && npm start": notRun("is the same as in README.md"),
    "npx signalbox token create claude": run({ prints: /sbx_/ }),
    "claude --dangerously-load-development-channels server:signalbox": notRun("needs Claude Code"),
    "npx signalbox send github issues --action opened": run(),
    // The test does not approve the code.
    "npx signalbox bridge sign-in": run({ env: { DISPLAY: "" }, until: /\/oauth\/device/ }),
    "issues opened in octo/town by mona": notRun("is a message in Claude Code"),
    "grep signalbox ~/.claude/debug/latest": notRun("needs Claude Code"),
  },
  "docs/deploy.md": {
    "npm install && npm run build && npm run release:pack -- /tmp/signalbox-release":
      notRun("needs root"),
    "git pull && rm --recursive --force /tmp/signalbox-release": notRun("needs root"),
    "SIGNALBOX_PUBLIC_URL=https://hub.example.com": areSettings,
    "[Unit]": needs("systemd-analyze", isUnit("signalbox.service")),
    "sudo systemctl daemon-reload": notRun("needs systemd"),
    "hub.example.com {": notRun("needs Caddy"),
    "map $http_upgrade $connection_upgrade {": needs("nginx", loadsInNginx),
    "umask 077": needs("sqlite3", run({ before: makeDataFolder, replace: BACKUP_PATHS })),
    "systemctl stop signalbox": needs(
      "sqlite3",
      run({
        before: replaceDatabase,
        replace: { ...BACKUP_PATHS, "systemctl ": "echo systemctl " },
        after: isRestored,
      }),
    ),
    "npm install && npm run build && npm run release:pack -- release": notRun("needs Docker"),
    "printf 'POSTGRES_PASSWORD=%s\\nSIGNALBOX_KEY=%s\\nSIGNALBOX_TOKEN=%s\\nGITHUB_WEBHOOK_SECRET=%s\\n' \\":
      testedIn("test/stories/compose.test.ts"),
    "cd packages/hub": notRun("needs an account of Cloudflare"),
    "npx wrangler dev --config packages/hub/wrangler.jsonc --env preview --port 8787 \\": run({
      replace: { "--port 8787": ({ home }) => `--port 0 --persist-to ${join(home, "worker")}` },
      cwd: ROOT,
      env: { WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" },
      until: /Ready on http/,
    }),
    '(http.request.uri.path eq "/webhooks/github" or starts_with(http.request.uri.path, "/webhooks/github/"))':
      ({ text }) => expect(text).toContain(`ip.src in {${GITHUB_HOOKS.join(" ")}}`),
    "curl --silent https://api.github.com/meta | node -p 'JSON.parse(fs.readFileSync(0)).hooks.join(\" \")'":
      run({
        replace: { "https://api.github.com/meta": `file://${GITHUB_RANGES}` },
        after: ({ lastOutput }) => expect(lastOutput.trim()).toBe(GITHUB_HOOKS.join(" ")),
      }),
  },
  "docs/exec.md": {
    'npx signalbox exec --type issues --repo octocat/hello-world -- claude -p "Triage the issue on stdin"':
      isRecipe("claude", "issues"),
    "npx signalbox send github issues --action opened": run({ prints: /Seen: The lamp stays red/ }),
    "export SIGNALBOX_URL=https://hub.example.com SIGNALBOX_TOKEN=sbx_…": runsTriage,
    "npx signalbox exec --type issues --repo octocat/hello-world --filter action=opened -- \\":
      isRecipe("claude", "issues"),
    "npx signalbox exec --type pull_request --filter action=opened --filter pull_request.draft=false -- \\":
      isRecipe("codex", "pull_request"),
    "npx signalbox exec --type workflow_run --filter workflow_run.conclusion=failure -- \\":
      isRecipe("gemini", "workflow_run"),
    "npx signalbox exec --type issues --shell -- \\": run({
      before: async (world) => {
        await world.shell("npx signalbox send github issues");
        writeFileSync(join(world.cwd, "classify"), "#!/bin/sh\necho bug\n", { mode: 0o755 });
      },
      replace: { "exec --type": "exec --once --type" },
      after: ({ home }) =>
        expect(readFileSync(join(home, "gh.args"), "utf8")).toMatch(
          /^issue edit http.* --add-label bug$/m,
        ),
    }),
    "sudo useradd --system --create-home --home-dir /var/lib/signalbox-worker signalbox-worker":
      notRun("needs root"),
    "[Unit]": needs("systemd-analyze", isUnit("signalbox-worker.service")),
  },
  "docs/flows.md": {
    'hub() { curl -sS -H "Authorization: Bearer $TOKEN" "http://127.0.0.1:4747/api/$1" "${@:2}"; echo; }':
      run({ prints: /"text":"Hello you!"/ }),
    "npx signalbox flows pull flows/            # writes one JSON file per flow, in one folder per app":
      run({
        before: ({ cwd }) => {
          const [flow] = JSON.parse(
            readFileSync(join(ROOT, "test/fixtures/legacy-flows.json"), "utf8"),
          );
          writeFileSync(join(cwd, "old.json"), JSON.stringify([flow]));
        },
      }),
    "claude mcp add --transport http weather http://127.0.0.1:4747/mcp/weather": claudeMcpAdd,
    "npx signalbox token create my-agent": run({ replace: { "claude mcp add": "echo" } }),
  },
  "docs/limits.md": {
    "SIGNALBOX_HOSTS=signalbox,hub.internal npx signalbox serve": startsHub(),
  },
  "docs/oauth.md": {
    "claude mcp add --transport http signalbox http://127.0.0.1:4747/mcp": claudeMcpAdd,
    "HUB=http://127.0.0.1:4747": run({ prints: /"device_code":"sbd_/ }),
    "curl -sS $HUB/oauth/token -d client_id=$CLIENT -d device_code=$DEVICE_CODE \\": run({
      replace: { $DEVICE_CODE: ({ lastOutput }) => JSON.parse(lastOutput).device_code },
      prints: /"error":"authorization_pending"/,
    }),
  },
  "docs/operating.md": {
    "SIGNALBOX_PROXY_HEADER=x-forwarded-for SIGNALBOX_PROXY_ADDRESSES=10.0.0.0/8": areSettings,
    "npx signalbox tenant list": async (block, world) => {
      const data = join(world.home, "tenants");
      const hub = await startHubProcess({
        data,
        env: { SIGNALBOX_TENANCY: "github", GITHUB_WEBHOOK_SECRET: "a secret of the docs" },
      });
      const env = { SIGNALBOX_DATA: data };
      try {
        await world.shell("npx signalbox send github --tenant 42", { env });
        await run({
          // Without a terminal, the command cannot ask.
          replace: { "delete ID": "delete ID --yes", ID: "42", FILE: "export.ndjson" },
          env,
        })(block, world);
      } finally {
        await hub.stop();
      }
    },
    "npx signalbox token create prometheus --scope metrics:read": run({ prints: /metrics:read/ }),
    "scrape_configs:": notRun("a configuration of Prometheus"),
    "npx signalbox token create operator --scope admin --tenant '*'": run({
      prints: /operator \(admin\) for all tenants/,
    }),
    "npx signalbox token revoke admin": run({
      // The hub of this test has its admin token from the environment.
      replace: {
        "revoke admin": async ({ shell }) => {
          const options = { page: "docs/operating.md" };
          const created = await shell("npx signalbox token create former --json", options);
          return `revoke ${JSON.parse(created).id}`;
        },
      },
      prints: /✓ revoked/,
    }),
    "npx signalbox key rotate": run({
      // A block before it has set the address of a hub on another machine.
      replace: { "npx signalbox": "SIGNALBOX_URL= npx signalbox" },
      prints: /stored secrets? (is|are) encrypted/,
    }),
    "export SIGNALBOX_URL=https://hub.example.com SIGNALBOX_TOKEN=sbx_…": run(),
    "npm install && npm run build && npm pack -w @signalbox/cli": notRun(
      "another test packs the package",
    ),
    "npm install ./signalbox-cli-*.tgz": notRun("another test installs the package"),
  },
  "docs/sign-in.md": {
    "SIGNALBOX_TENANCY=github SIGNALBOX_PUBLIC_URL=https://hub.example.com \\": startsHub(),
  },
  "docs/trigger-servers.md": {
    "npm install @signalbox/triggers @modelcontextprotocol/server @hono/node-server zod": notRun(
      "needs the package on npm",
    ),
    // The next block runs the file.
    'import { serve } from "@hono/node-server";': ({ text }, { cwd }) =>
      writeFileSync(join(cwd, "server.mjs"), text),
    "node server.mjs": async (block, world) => {
      const port = await fixedPort();
      const file = join(world.cwd, "server.mjs");
      writeFileSync(file, readFileSync(file, "utf8").replace("port: 3000", `port: ${port}`));
      await run({
        replace: {
          "node server.mjs": [
            "node server.mjs & trap 'kill $!' EXIT",
            `until curl -sS -o server.log http://127.0.0.1:${port} 2>> server.log; do sleep 0.1; done`,
          ].join("\n"),
          // The hub of this test runs already.
          "SIGNALBOX_ALLOW_PRIVATE=127.0.0.1 npm start": "",
          "127.0.0.1:3000": `127.0.0.1:${port}`,
        },
        prints: /^✓ ticks-.*\n {2}2 tools, 1 trigger$/m,
      })(block, world);
    },
    "for (const subscription of await triggers.subscriptions()) watch(subscription);":
      compiles(TRIGGERS),
    "createTriggers({ definitions, connectionId: (context) => context.http?.authInfo?.clientId });":
      compiles(DEFINITIONS),
    'import { DurableObject, waitUntil } from "cloudflare:workers";': notRun(
      "needs the types of Cloudflare's runtime",
    ),
    'import { testTriggers } from "@signalbox/triggers/testing";': compiles(TRIGGERS),
    "✓ offers the tools TRIGGER_LIST and TRIGGER_CONFIGURE": ({ text }) => {
      const checks = readFileSync(join(ROOT, "packages/triggers/src/testing/checks.ts"), "utf8");
      for (const [, name] of text.matchAll(/^[✓✗] ([^:\n]+)/gm))
        expect(checks).toContain(`"${name}"`);
    },
  },
  "docs/triggers.md": {
    "npx signalbox connection add weather https://weather.example/mcp": run(),
    "✓ weather-7kq2xv  https://weather.example/mcp": isOutput,
    "SIGNALBOX_CONNECTION_TOKEN=… npx signalbox connection add weather URL         # a bearer token":
      run({
        replace: { "weather URL": "weather https://weather.example/mcp" },
        prints: /(✓.*){4}/s,
      }),
    "POST /api/connections": isRequest(),
    "npx signalbox connection add weather https://weather.example/mcp --oauth": run({
      prints: /^! /,
    }),
    "GITHUB_TOKEN=… npx signalbox connection add github --env GITHUB_TOKEN -- npx -y some-mcp-server":
      run({
        replace: { "npx -y some-mcp-server": "some-mcp-server" },
        prints: /1 tool,/,
      }),
    "POST /api/connections/ID/triggers/TYPE/test": isRequest({
      ID: connectionId,
      TYPE: () => "weather.rain",
    }),
  },
  "docs/webhooks.md": {
    "cloudflared tunnel --url http://127.0.0.1:4747   # prints https://NAME.trycloudflare.com; keep it running":
      startsHub(
        {
          cloudflared: ":",
          NAME: "some-name",
          "npm start": "npm start --ignore-scripts",
        },
        { cwd: ROOT },
      ),
    'npx signalbox source add stripe "Shop"     # prints the URL and a secret': run({
      before: (world) => world.shell("npx signalbox source add gitlab"),
      replace: { ID: newestSource },
    }),
    'npx signalbox source add stripe "Shop"': run({ replace: { ID: newestSource } }),
    "GITHUB_APP_ID=123456 GITHUB_APP_PRIVATE_KEY=/etc/signalbox/app.pem npx signalbox serve":
      async (block, world) => {
        const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
        const file = join(world.home, "app.pem");
        writeFileSync(file, privateKey.export({ type: "pkcs1", format: "pem" }));
        await startsHub({ "/etc/signalbox/app.pem": file })(block, world);
      },
  },
  "examples/README.md": {
    "npm run build": notRun("test/stories/examples.test.ts runs every example"),
  },
  "packages/cli/README.md": {
    "npm install ./signalbox-cli-*.tgz": notRun("another test installs the package"),
    "export SIGNALBOX_URL=https://hub.example.com SIGNALBOX_TOKEN=sbx_…": runsTriage,
  },
  "packages/hub/README.md": {
    "npx signalbox serve": startsHub(),
    "npx signalbox send github issues --action opened": run(),
  },
  "packages/triggers/README.md": {
    'import { createTriggers } from "@signalbox/triggers";': compiles(MCP_SERVER),
  },
};

/** Further checks of the blocks of JSON on a page. */
export const jsonChecks: Record<string, Check> = {
  "docs/flows.md": async ({ language, text }, { request }) => {
    if (language !== "jsonc") return;
    const { body: runs } = await request("GET", "/api/runs?app=desk");
    const { body: run } = await request("GET", `/api/runs/${runs.items[0].id}`);
    expect(run).toMatchObject(
      parseJson(text, (value) =>
        typeof value === "string" && value.includes("…") ? expect.any(String) : value,
      ),
    );
  },
  "docs/triggers.md": async ({ text }, world) => {
    const event = JSON.parse(text.replace("weather-7kq2xv", await connectionId(world)));
    await world.request("POST", "/api/apps", '{ "slug": "rain", "name": "Rain" }');
    const end = { id: "end", type: "Return", name: "End", parameters: { value: "ok" } };
    const nodes = [{ id: "rain", ...event }, end];
    const body = JSON.stringify({
      name: "Rain",
      nodes,
      edges: [{ source: "rain", target: "end" }],
    });
    const flow = await world.request("POST", "/api/apps/rain/flows", body);
    const published = await world.request("POST", `/api/flows/${flow.body.id}/publish`, "{}");
    expect(published).toMatchObject({ status: 200, body: { errors: [], warnings: [] } });
    await vi.waitFor(() => expect(world.weather.configured).not.toEqual([]), WAIT);
  },
};

/** Parses JSON with comments. */
export const parseJson = (text: string, map = (value: unknown) => value) =>
  JSON.parse(text.replaceAll(/ \/\/ .*$/gm, ""), (_, value) => map(value));
