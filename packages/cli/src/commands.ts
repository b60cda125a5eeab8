/** The commands that call the HTTP API of a hub. */
import { bridge } from "./bridge.ts";
import { createConnection } from "./connection.ts";
import { createEvents } from "./events.ts";
import { createExec } from "./exec.ts";
import { createFlows } from "./flows.ts";
import { createImportFlows, type ReadDatabase } from "./import-flows.ts";
import { createOpen } from "./open.ts";
import { createSend, type Sender } from "./send.ts";
import { createSource } from "./source.ts";
import { createTenant } from "./tenant.ts";
import { createToken } from "./token.ts";
import type { OpenSession } from "./with-hub.ts";

/** What only the program of the hub can do is optional. */
export interface CommandsOptions {
  openSession: OpenSession;
  sender?: Sender;
  readDatabase?: ReadDatabase;
}

/** The order is that of the help. */
export const createCommands = ({ openSession, sender, readDatabase }: CommandsOptions) => ({
  open: createOpen(openSession),
  send: createSend(openSession, sender),
  events: createEvents(openSession),
  exec: createExec(openSession),
  token: createToken(openSession),
  source: createSource(openSession, sender?.kinds),
  connection: createConnection(openSession),
  tenant: createTenant(openSession),
  flows: createFlows(openSession),
  importFlows: createImportFlows(openSession, readDatabase),
  bridge,
});
