/** Migrates the flows of a legacy system, and logs the result. */

import { truncate } from "@signalbox/rules/truncate.ts";
import type { Log } from "../../kernel/lib/log.ts";
import type { LegacyMigration, MigratedApp } from "./migrate-legacy-flows.ts";

/** A failed migration does not stop the hub: the flows stay in their table for the next start. */
export async function logLegacyMigration(
  log: Log,
  migrate: () => Promise<LegacyMigration>,
): Promise<void> {
  try {
    logResult(await migrate(), log);
  } catch (error) {
    log.error(
      { err: error },
      "the legacy flows in this database could not be migrated; they stay in the table older_flows, and the next start tries again",
    );
  }
}

function logResult(result: LegacyMigration, log: Log): void {
  if (result.outcome === "none") return;
  if (result.outcome === "no_tenant") {
    log.warn(
      { flows: result.rows },
      "the table older_flows contains legacy flows without a tenant: add a column tenant_id to it, with the id of the account, and start again; " +
        "or export its rows to a JSON file, import it with `npx signalbox import-flows FILE --tenant ACCOUNT_ID`, and drop the table",
    );
    return;
  }
  const { apps, rejected, table } = result;
  for (const app of apps) logApp(app, log);
  for (const { id, name, reason } of rejected)
    log.warn(
      { id },
      `legacy flow ${shownName(name || id)}: not migrated: ${reason.replace(/\.$/, "")}; it stays in ${table}`,
    );
  log.info(
    { apps: apps.length, table },
    `legacy flows were migrated; their table is now named ${table}`,
  );
}

function logApp({ tenant, app, flows, notes }: MigratedApp, log: Log): void {
  const created = flows.filter(({ outcome }) => outcome === "created").length;
  const added = created === 1 ? "1 legacy flow was" : `${created} legacy flows were`;
  log.info({ tenant, app, flows: created }, `${added} added to the app ${app}`);
  for (const note of notes) log.warn({ tenant, app }, `legacy app ${app}: ${note}`);
  for (const { id, name, outcome, notes, not_published } of flows) {
    const warn = (message: string) =>
      log.warn({ tenant, app, flow: id }, `legacy flow ${shownName(name)}: ${message}`);
    if (outcome === "skipped") warn("exists already, and is left unchanged");
    for (const note of notes) warn(note);
    if (not_published) warn(`not published: ${not_published}`);
  }
}

const shownName = (name: string): string => truncate(name, 100);
