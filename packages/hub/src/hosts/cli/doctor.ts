import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import {
  assertNoMoreArguments,
  type Command,
  connectToHub,
  dim,
  findRunningHub,
  green,
  isSameUrl,
  locateHub,
  print,
  program,
  red,
  serveFlags,
  tryReadHubFile,
  yellow,
} from "@signalbox/cli/src/index.ts";
import { WEBHOOKS } from "../../events/admit/receive-request.ts";
import { githubSettings } from "../../github-settings.ts";
import {
  allowsUnsigned,
  assertAdminToken,
  assertSafe,
  lacksProxyHeader,
  signedSources,
} from "../../hub-settings.ts";
import { SettingsError } from "../../kernel/settings.ts";
import { definitions, type Settings } from "../../settings.ts";
import { isDatabaseMarked } from "../node/data-folder.ts";
import { loadSettings } from "../node/load-settings.ts";
import { isSqlite, openStore, sqliteFile } from "../node/open-store.ts";
import { withoutPassword } from "../without-password.ts";
import {
  describeRetentionClock,
  describeSecrets,
  describeSize,
  type Finding,
} from "./doctor-findings.ts";
import { checkGithubApp, checkRemoteRedelivery, describeRedelivery } from "./doctor-github.ts";

export const doctor: Command = {
  name: "doctor",
  usage: "[--json] [--accept-clock] [options]",
  summary: "check settings, database, clock and reachability, and suggest fixes",
  options: {
    json: { type: "boolean", help: "print JSON" },
    "accept-clock": {
      type: "boolean",
      help: "the clock of this machine is right: retention follows it immediately after a step",
    },
  },
  settings: ["url", "data", "databaseUrl", "host", "port", "publicUrl", "githubApiUrl"],
  acceptsAllSettings: true,
  async run({ positionals, flags }) {
    assertNoMoreArguments(positionals);
    const findings: Finding[] = [];
    let settings: Settings | undefined;
    try {
      settings = loadSettings(flags);
      if (settings.url === undefined) assertAdminToken(settings);
      githubSettings(settings);
      findings.push({
        check: "settings",
        state: "ok",
        says: `${Object.keys(definitions).length} settings of this terminal are valid`,
      });
    } catch (error) {
      findings.push({
        check: "settings",
        state: "problem",
        says: messageOf(error),
        // `config` cannot show settings that cannot be loaded.
        fix: settings
          ? `correct it; \`${program} config\` shows the current settings`
          : "correct it",
      });
    }
    findings.push(checkNode());
    if (settings)
      try {
        findings.push(...(await checkHubOfSettings(settings, flags["accept-clock"] === true)));
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error;
        findings.push({ check: "hub", state: "problem", says: error.message });
      }
    const problems = findings.filter(({ state }) => state === "problem").length;
    if (flags.json) print(JSON.stringify({ ok: problems === 0, findings }, null, 2));
    else {
      for (const { check, state, says, fix } of findings) {
        const mark = { ok: green("✓"), warning: yellow("!"), problem: red("✗") }[state];
        print(`${mark} ${check.padEnd(12)} ${says}`);
        if (fix && state !== "ok") print(dim(`  ${" ".repeat(12)} → ${fix}`));
      }
    }
    if (problems > 0) process.exitCode = 1;
  },
};

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

function checkNode(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 15)
    ? { check: "node", state: "ok", says: `Node ${process.versions.node}` }
    : {
        check: "node",
        state: "problem",
        says: `Node ${process.versions.node} is too old`,
        fix: "install Node 22.15 or newer",
      };
}

/** Checks the hub. Its database and its secrets can be checked only on its own machine. */
async function checkHubOfSettings(settings: Settings, acceptClock: boolean): Promise<Finding[]> {
  const { url } = locateHub(settings);
  // If a URL is set, a damaged hub.json is ignored: `findRunningHub` would throw.
  const running =
    settings.url === undefined || tryReadHubFile(settings.data)
      ? await findRunningHub(settings)
      : undefined;
  const isLocalHub =
    running && [running.url, running.public_url].some((address) => isSameUrl(address, url));
  if (settings.url !== undefined && !isLocalHub)
    return [
      {
        check: "scope",
        state: "ok",
        says: `the database and the secrets of ${url} are not checked: run doctor on its machine to check them`,
      },
      await checkHub(
        "hub",
        url,
        "check the address (--url, SIGNALBOX_URL), and that the hub is running",
      ),
      ...(acceptClock
        ? [
            {
              check: "retention",
              state: "problem" as const,
              says: "--accept-clock changes the database of the hub",
              fix: "run it on the machine of the hub, without --url and SIGNALBOX_URL",
            },
          ]
        : []),
      ...(await checkRemoteRedelivery(connectToHub(settings))),
      await checkClock(settings),
    ];
  const database = await checkDatabase(settings, running !== undefined, acceptClock);
  return [
    ...database.findings,
    describeSecrets(
      running
        ? { signed: running.signed_sources, unsigned: running.unsigned }
        : {
            signed: signedSources(settings),
            unsigned: allowsUnsigned(settings, database.secretCount),
            isFromTerminal: true,
          },
      database.secretCount,
    ),
    ...(await checkReachability(settings, url, running)),
  ];
}

/** Limits the cost of counting redeliveries. */
const MAX_COUNTED = 10_000;

/** Also returns the number of secrets of endpoints with a key, which are in the database. */
async function checkDatabase(
  settings: Settings,
  isRunning: boolean,
  acceptClock: boolean,
): Promise<{ findings: Finding[]; secretCount: number }> {
  const usesSqlite = isSqlite(settings);
  const location = usesSqlite ? sqliteFile(settings) : withoutPassword(settings.databaseUrl);
  if (usesSqlite && !existsSync(location) && !isDatabaseMarked(settings.data, location)) {
    const says = `${location} does not exist: the running hub has another database than the settings of this terminal`;
    const fix =
      "to check the database of the hub, set DATABASE_URL to the same value as for the hub";
    return {
      findings: [
        isRunning ? { check: "database", state: "warning", says, fix } : checkNewDatabase(location),
      ],
      secretCount: 0,
    };
  }
  const findings: Finding[] = [];
  let secretCount = 0;
  let isOpen = false;
  try {
    const store = await openStore(settings);
    isOpen = true;
    try {
      const start = performance.now();
      await store.checkWritable(Date.now());
      findings.push({
        check: "database",
        state: "ok",
        says: `${location} is writable; a durable write took ${(performance.now() - start).toFixed(1)} ms`,
      });
      findings.push(describeSize(await store.measureSize(), store.file));
      const clock = describeRetentionClock(
        acceptClock ? await store.acceptClock(Date.now()) : await store.getClock(),
        Date.now(),
      );
      if (clock) findings.push(clock);
      const redelivery = describeRedelivery(
        await store.getRedeliverySweep(),
        await store.countRedeliveries(MAX_COUNTED),
        Date.now(),
      );
      if (redelivery) findings.push(redelivery);
      for (const source of await store.listSources()) secretCount += source.secrets.length;
      // A running hub has passed this check at its start, with its own settings.
      if (!isRunning) assertSafe(settings, secretCount);
    } finally {
      await store.close();
    }
  } catch (error) {
    findings.push({
      state: "problem",
      says: messageOf(error),
      ...(error instanceof SettingsError
        ? { check: isOpen ? "settings" : "database" } // the message has the fix
        : {
            check: "database",
            fix: "check DATABASE_URL, the permissions of the folder, and the free space",
          }),
    });
  }
  if (usesSqlite) {
    const { bavail, bsize } = statfsSync(dirname(location));
    const freeGiB = (bavail * bsize) / 1024 ** 3;
    findings.push({
      check: "disk",
      state: freeGiB < 1 ? "warning" : "ok",
      says: `${freeGiB.toFixed(1)} GiB free`,
      fix: "free some space, or shorten the retention (SIGNALBOX_KEEP_MB, SIGNALBOX_KEEP_PENDING_DAYS)",
    });
  }
  return { findings, secretCount };
}

function checkNewDatabase(file: string): Finding {
  let folder = dirname(file);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  try {
    if (!statSync(folder).isDirectory())
      return {
        check: "database",
        state: "problem",
        says: `${folder} is not a folder`,
        fix: "move it, or choose another folder with SIGNALBOX_DATA",
      };
    accessSync(folder, constants.W_OK);
    return { check: "database", state: "ok", says: `${file} will be created on the first start` };
  } catch {
    return {
      check: "database",
      state: "problem",
      says: `${folder} is not writable`,
      fix: "choose another folder with SIGNALBOX_DATA, or change its permissions",
    };
  }
}

/** Sends a request to the hub's addresses, and compares the clock with GitHub's. */
async function checkReachability(
  settings: Settings,
  url: string,
  running: { url: string; public_url: string } | undefined,
): Promise<Finding[]> {
  const findings = [
    await checkHub(
      "hub",
      url,
      `start it with \`${program} serve${serveFlags(settings)}\`, run this command in its folder, or give its address with --url`,
    ),
  ];
  const publicUrl = running ? publicUrlOf(running) : settings.publicUrl;
  if (publicUrl)
    findings.push(
      await checkHub(
        "public url",
        publicUrl,
        "check the tunnel or proxy in front of the hub, and SIGNALBOX_PUBLIC_URL",
      ),
    );
  if (lacksProxyHeader(settings))
    findings.push({
      check: "proxy",
      state: "warning",
      says: "behind a tunnel or proxy, GitHub's webhooks are rejected, because they come from the proxy",
      fix: "behind a proxy, set SIGNALBOX_PROXY_HEADER, or GITHUB_IP_ALLOWLIST=off",
    });
  findings.push(await checkClock(settings));
  findings.push(
    ...(await checkGithubApp(
      settings,
      publicUrl && `${publicUrl.replace(/\/$/, "")}${WEBHOOKS}github`,
    )),
  );
  return findings;
}

/** Without a public URL, a running hub reports an address of this machine as its `public_url`. */
const publicUrlOf = (running: { url: string; public_url: string }): string | undefined =>
  new URL(running.public_url).origin === new URL(running.url).origin
    ? undefined
    : running.public_url;

async function checkHub(check: string, url: string, fix: string): Promise<Finding> {
  try {
    const response = await fetch(`${url.replace(/\/$/, "")}/readyz`, {
      signal: AbortSignal.timeout(5000),
    });
    if (response.ok) return { check, state: "ok", says: `responds at ${url}` };
    return { check, state: "problem", says: `${url} responds with status ${response.status}`, fix };
  } catch {
    return { check, state: "warning", says: `no response from ${url}`, fix };
  }
}

const MAX_SKEW_MS = 60_000;

async function checkClock(settings: Settings): Promise<Finding> {
  try {
    const response = await fetch(`${settings.githubApiUrl}/meta`, {
      method: "HEAD",
      signal: AbortSignal.timeout(5000),
    });
    const skew = Date.now() - Date.parse(response.headers.get("date") ?? "");
    if (Number.isNaN(skew))
      return {
        check: "clock",
        state: "warning",
        says: "GitHub's response has no Date header to compare with",
      };
    return Math.abs(skew) < MAX_SKEW_MS
      ? { check: "clock", state: "ok", says: "matches GitHub's clock" }
      : {
          check: "clock",
          state: "problem",
          says: `is ${Math.round(Math.abs(skew) / 1000)} s ${skew > 0 ? "ahead of" : "behind"} GitHub's clock`,
          fix: "turn on time synchronization: a hub with a wrong clock rejects signatures with a timestamp",
        };
  } catch {
    return {
      check: "clock",
      state: "warning",
      says: `could not be compared: ${settings.githubApiUrl} does not respond`,
      fix: "check the network, unless this machine has no internet access",
    };
  }
}
