/** All commands, in the order of the help. */
import { bridge } from "./bridge.ts";
import type { Command } from "./command.ts";
import { compact } from "./compact.ts";
import { config } from "./config.ts";
import { connection } from "./connection.ts";
import { doctor } from "./doctor.ts";
import { events } from "./events.ts";
import { exec } from "./exec.ts";
import { flows } from "./flows.ts";
import { importFlows } from "./import-flows.ts";
import { key } from "./key.ts";
import { open } from "./open.ts";
import { send } from "./send.ts";
import { serve } from "./serve.ts";
import { source } from "./source.ts";
import { tenant } from "./tenant.ts";
import { token } from "./token.ts";

export const commands: readonly Command[] = [
  serve,
  open,
  send,
  events,
  exec,
  token,
  source,
  connection,
  tenant,
  key,
  compact,
  flows,
  importFlows,
  bridge,
  config,
  doctor,
];
