/** The bridge as a process: settings from the environment, MCP on stdin and stdout, words on stderr. */
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { serveBridge } from "./bridge.ts";
import { type BridgeSettings, readSettings, SettingsError } from "./settings.ts";

const say = (words: string) => void process.stderr.write(`signalbox-bridge: ${words}\n`);

const flush = () =>
  new Promise<void>((resolve, reject) => {
    process.stdout.write("", (error) => (error ? reject(error) : resolve()));
  });

/** Ends the process when the client is gone. */
export async function runBridge(): Promise<void> {
  let settings: BridgeSettings;
  try {
    settings = readSettings(process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    say(error.message);
    process.exitCode = 2;
    return;
  }
  if (settings.token === undefined) say("SIGNALBOX_TOKEN is not set; the hub will ask for one.");
  const transport = new StdioServerTransport();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void transport.close());
  await serveBridge({ settings, transport, say, flush });
  process.exit();
}
