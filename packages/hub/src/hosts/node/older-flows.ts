/** Takes over what an older system left in the database, and says in the log what became of it. */

import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import { migrateLegacyFlows, type TakenApp, type TakenOver } from "../../apps/take-over-flows.ts";
import { createIds } from "../../lib/ids.ts";
import type { Store } from "../../store/store.ts";
import type { Logger } from "./log.ts";

/** Whatever is wrong with older flows, the hub starts: they stay where they are. */
export async function takeOver(
  store: Pick<Store, "migrateLegacyFlows">,
  tenant: string | undefined,
  log: Logger,
): Promise<void> {
  try {
    const options = { store, registry: nodeTypes, tenant, newId: createIds(), now: Date.now };
    tell(await migrateLegacyFlows(options), log);
  } catch (error) {
    log.error(
      { err: error },
      "the older flows in this database could not be taken over; they stay in the table older_flows, and the next start tries again",
    );
  }
}

function tell(taken: TakenOver, log: Logger): void {
  if (taken.outcome === "none") return;
  if (taken.outcome === "no_tenant") {
    log.warn(
      { flows: taken.rows },
      "older flows lie in the table older_flows, but do not say whose they are: add a column tenant_id to it, with the id of the account, and start again; " +
        "or write its rows to a file as JSON, bring them in with `signalbox import-flows FILE --tenant ACCOUNT_ID`, and drop it",
    );
    return;
  }
  const { apps, refused, table } = taken;
  for (const app of apps) tellApp(app, log);
  for (const { id, name, reason } of refused)
    log.warn({ id }, `older flow ${name || id}: not taken over: ${reason}; it stays in ${table}`);
  log.info(
    { apps: apps.length, table },
    `older flows were taken over; their table is now ${table}`,
  );
}

function tellApp({ tenant, app, flows, notes }: TakenApp, log: Logger): void {
  const created = flows.filter(({ outcome }) => outcome === "created").length;
  log.info({ tenant, app, flows: created }, `${created} older flows came into the app ${app}`);
  for (const note of notes) log.warn({ tenant, app }, `older app ${app}: ${note}`);
  for (const { id, name, outcome, notes, not_published } of flows) {
    const say = (words: string) =>
      log.warn({ tenant, app, flow: id }, `older flow ${name}: ${words}`);
    if (outcome === "skipped") say("is here already, and left as it is");
    for (const note of notes) say(note);
    if (not_published) say(`not published: ${not_published}`);
  }
}
