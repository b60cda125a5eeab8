import { createWriteStream } from "node:fs";
import { createInterface } from "node:readline/promises";
import { pipeline } from "node:stream/promises";
import { setTimeout as wait } from "node:timers/promises";
import type { TenantDetails } from "@signalbox/contract";
import { pathWith } from "@signalbox/contract/client.ts";
import { LOCAL_TENANT } from "@signalbox/contract/scopes.ts";
import {
  actionOf,
  asString,
  assertNoMoreArguments,
  type Command,
  CommandFailed,
  type Parsed,
  print,
  table,
  UsageError,
} from "./command.ts";
import { type HubClient, HubRequestFailed } from "./hub-client.ts";
import { sameHubFlags } from "./same-hub-flags.ts";
import type { Tenancy } from "./settings.ts";
import { bold, dim, green } from "./style.ts";
import { type OpenSession, withHub } from "./with-hub.ts";

export const createTenant = (openSession: OpenSession): Command => ({
  name: "tenant",
  usage: "list | show ID | export ID | delete ID [options]",
  summary: "list and show tenants, and export or delete all data of a tenant",
  details:
    "`export` writes NDJSON: events with payloads, flows, runs and settings, without credentials.\n" +
    "`delete` revokes the tenant's tokens, rejects its webhooks and deletes its data.",
  options: {
    output: {
      type: "string",
      value: "FILE",
      help: "with export: the file to write (standard output)",
    },
    yes: { type: "boolean", help: "with delete: do not ask for confirmation" },
    json: { type: "boolean", help: "print JSON" },
  },
  settings: ["url", "token", "data"],
  async run({ positionals, flags }) {
    const [name, id, ...rest] = positionals;
    const action = actionOf(
      { list, show, export: exportAll, delete: remove },
      name,
      "list, show ID, export ID, or delete ID",
    );
    assertNoMoreArguments(action === list && id !== undefined ? [id, ...rest] : rest);
    const session = openSession(flags);
    let tenancy: Tenancy | undefined;
    // The paths of the requests name the tenant, so no tenant is chosen here.
    const chooseTenant = (tenancyOfHub: typeof tenancy) => {
      tenancy = tenancyOfHub;
      return undefined;
    };
    const listHint = `\`npx @signalbox/cli tenant list${sameHubFlags(session.settings)}\` shows the ids.`;
    await withHub(session, { create: false, chooseTenant }, async (hub) => {
      const tenantId = id ?? (tenancy === "single" ? LOCAL_TENANT : undefined);
      if (tenantId === undefined && action !== list)
        throw new UsageError(`Missing argument ID. ${listHint}`);
      try {
        await action(hub, flags, tenantId ?? "");
      } catch (error) {
        // A response with status 404 but without a code is not from a hub.
        const isUnknown = error instanceof HubRequestFailed && error.status === 404 && error.code;
        if (!isUnknown || tenantId === undefined) throw error;
        throw new CommandFailed(`No tenant has the id "${tenantId}". ${listHint}`);
      }
    });
  },
});

type Action = (hub: HubClient, flags: Parsed["flags"], id: string) => Promise<void>;

const paramsOf = (id: string) => ({ params: { tenant: id } });

const list: Action = async (hub, flags) => {
  const tenants = await hub.all("/api/tenants");
  if (flags.json) return print(JSON.stringify(tenants));
  if (tenants.length === 0)
    return print("No tenants. The first webhook of an account creates one.");
  print(
    table([
      ["ID", "NAME", "PENDING", "CREATED"],
      ...tenants.map(({ id, name, pending, created_at }) => [
        id,
        name ?? "",
        String(pending),
        created_at?.slice(0, 10) ?? "",
      ]),
    ]),
  );
};

/** Formats a number such as `8,589,934,592`. */
const formatNumber = (value: number): string => value.toLocaleString("en");

const show: Action = async (hub, flags, id) => {
  const tenant = await hub.get("/api/tenants/:tenant", paramsOf(id));
  if (flags.json) return print(JSON.stringify(tenant));
  const { settings, in_force } = tenant;
  const describeSetting = (name: keyof TenantDetails["settings"], unit: string) =>
    `${in_force[name] === null ? "none" : `${formatNumber(in_force[name])} ${unit}`}${settings[name] === null ? dim(" (the hub's default)") : ""}`;
  print(
    table([
      ["ID", `${bold(tenant.id)}${tenant.deleting ? " (is being deleted)" : ""}`],
      ["NAME", tenant.name ?? ""],
      ["CREATED", tenant.created_at?.slice(0, 10) ?? ""],
      [
        "EVENTS",
        `${formatNumber(tenant.events)} received, ${formatNumber(tenant.pending)} pending, ${formatNumber(tenant.bytes)} bytes`,
      ],
      ["RUNS", `${formatNumber(tenant.runs_bytes)} bytes`],
      ["QUOTA", describeSetting("quota", "pending events")],
      ["KEEPS", `processed ${describeSetting("processed_days", "days")}`],
      ["", `pending ${describeSetting("pending_days", "days")}`],
      ["", `at most ${describeSetting("max_bytes", "bytes")}`],
      ...tenant.installations.map(({ id: installation, account, suspended_at, removed_at }) => [
        "INSTALLATION",
        `${installation} ${account ?? ""} ${removed_at ? "removed" : suspended_at ? "suspended" : "active"}`,
      ]),
    ]),
  );
};

const exportAll: Action = async (hub, flags, id) => {
  const file = asString(flags.output);
  const response = await hub.open("GET", pathWith("/api/tenants/:tenant/export", { tenant: id }));
  const target = file === undefined ? process.stdout : createWriteStream(file, { mode: 0o600 });
  // The last bytes contain the row with which a complete export ends.
  let tail = Buffer.alloc(0);
  async function* chunks() {
    for await (const chunk of response.body ?? []) {
      tail = Buffer.concat([tail, chunk]).subarray(-200);
      yield chunk;
    }
  }
  try {
    await pipeline(chunks, target, { end: file !== undefined });
  } catch (error) {
    throw file === undefined ? error : explainOutputError(file, error);
  }
  const rows = /\n\{"kind":"end","rows":(\d+)\}\n$/.exec(tail.toString())?.[1];
  if (rows === undefined)
    throw new CommandFailed(
      "The export is incomplete: the hub ended the response early. Run the command again.",
    );
  if (file === undefined) return;
  print(
    flags.json
      ? JSON.stringify({ id, file, rows: Number(rows) })
      : `${green("✓")} exported ${rows} rows of tenant ${id} to ${file}`,
  );
};

/** Explains an error of the output file. Returns any other error unchanged. */
function explainOutputError(file: string, error: unknown): unknown {
  const { code = "", syscall, message } = error as NodeJS.ErrnoException;
  if (syscall === "write") return new CommandFailed(`Cannot write ${file}: ${message}.`);
  if (syscall !== "open") return error;
  const reasons: Record<string, string> = {
    ENOENT: "its folder does not exist. Create the folder, or name another file with --output",
    EISDIR: "it is a folder. Name a file in it with --output",
  };
  const reason = reasons[code] ?? `${message}. Name another file with --output`;
  return new UsageError(`Cannot write ${file}: ${reason}.`);
}

const remove: Action = async (hub, flags, id) => {
  if (!flags.yes) await confirm(id, await findName(hub, id));
  await hub.delete("/api/tenants/:tenant", paramsOf(id));
  const isRevoked = await waitForDeletion(hub, id);
  if (flags.json) return print(JSON.stringify({ id, deleted: !isRevoked, deleting: isRevoked }));
  print(
    isRevoked
      ? `${green("✓")} the hub is deleting tenant ${id}; the token of this command was revoked with it`
      : `${green("✓")} deleted tenant ${id}`,
  );
};

/**
 * Also returns null for a tenant that the hub does not know: rows can remain after a deletion, and a
 * second deletion removes them.
 */
async function findName(hub: HubClient, id: string): Promise<string | null> {
  try {
    return (await hub.get("/api/tenants/:tenant", paramsOf(id))).name;
  } catch (error) {
    if (!(error instanceof HubRequestFailed) || error.status !== 404) throw error;
    return null;
  }
}

async function confirm(id: string, name: string | null): Promise<void> {
  if (!process.stdin.isTTY)
    throw new UsageError("The deletion cannot be undone: confirm it with --yes.");
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await prompt.question(
    `This deletes all data of tenant ${id}${name === null ? "" : ` (${name})`}. Type its id to confirm: `,
  );
  prompt.close();
  if (answer.trim() !== id)
    throw new CommandFailed(`Nothing was deleted: you did not type the id ${id}.`);
}

/** Waits until the tenant is deleted. Returns true if the token was revoked before that. */
async function waitForDeletion(hub: HubClient, id: string): Promise<boolean> {
  for (;;) {
    try {
      await hub.get("/api/tenants/:tenant", paramsOf(id));
    } catch (error) {
      const status = error instanceof HubRequestFailed ? error.status : undefined;
      if (status === 404 || status === 401) return status === 401;
      throw error;
    }
    await wait(200);
  }
}
