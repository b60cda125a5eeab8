/** Runs the bridge as a process: settings from the environment, MCP on stdio, messages on stderr. */
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { serveBridge } from "./bridge.ts";
import { type BridgeSettings, readSettings, SettingsError } from "./settings.ts";

const warn = (message: string) => void process.stderr.write(`signalbox-bridge: ${message}\n`);

const flush = () =>
  new Promise<void>((resolve, reject) => {
    process.stdout.write("", (error) => (error ? reject(error) : resolve()));
  });

/** Exits the process when the client disconnects. */
export async function runBridge(): Promise<void> {
  let settings: BridgeSettings;
  try {
    settings = readSettings(process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    warn(error.message);
    process.exitCode = 2;
    return;
  }
  const { url, localHubFrom } = settings;
  if (localHubFrom !== undefined)
    warn(`SIGNALBOX_URL is not set; using the local hub at ${url} (${localHubFrom}).`);
  if (settings.token === undefined)
    warn(
      "SIGNALBOX_TOKEN is not set; the hub requires a token. Create one in the hub's folder: `npx signalbox token create NAME`.",
    );
  const transport = new StdioServerTransport();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void transport.close());
  await serveBridge({ settings, transport, warn, flush });
  process.exit();
}
