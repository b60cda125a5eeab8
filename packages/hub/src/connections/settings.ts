/** The setting of connections to commands. */
import { choice, setting } from "../kernel/settings.ts";

// biome-ignore format: a table
export const connectionDefinitions = {
  allowCommands: setting({ env: "SIGNALBOX_ALLOW_COMMANDS", flag: "allow-commands", help: "on or off: connections may run MCP servers as commands on this machine", schema: choice(["on", "off"]).default("off") }),
} as const;
