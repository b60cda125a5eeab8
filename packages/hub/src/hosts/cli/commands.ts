/** All commands, in the order of the help. */
import { bridge } from "../../../../cli/src/bridge.ts";
import type { Command } from "../../../../cli/src/command.ts";
import { connection } from "../../../../cli/src/connection.ts";
import { events } from "../../../../cli/src/events.ts";
import { exec } from "../../../../cli/src/exec.ts";
import { flows } from "../../../../cli/src/flows.ts";
import { importFlows } from "../../../../cli/src/import-flows.ts";
import { open } from "../../../../cli/src/open.ts";
import { send } from "../../../../cli/src/send.ts";
import { source } from "../../../../cli/src/source.ts";
import { tenant } from "../../../../cli/src/tenant.ts";
import { token } from "../../../../cli/src/token.ts";
import { compact } from "./compact.ts";
import { config } from "./config.ts";
import { doctor } from "./doctor.ts";
import { key } from "./key.ts";
import { serve } from "./serve.ts";

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
