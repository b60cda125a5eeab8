/**
 * Runs the bridge as a process: settings from the environment, MCP on stdio, messages on stderr. With
 * `sign-in` or `sign-out` it is a command for the user instead.
 */
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
import { serveBridge } from "./bridge.ts";
import { type BridgeSettings, readSettings, SettingsError } from "./bridge-settings.ts";
import { causeOf } from "./hub-error.ts";
import { signIn, signOut } from "./sign-in-command.ts";

const warn = (message: string) => void process.stderr.write(`signalbox-bridge: ${message}\n`);

const flush = () =>
  new Promise<void>((resolve, reject) => {
    process.stdout.write("", (error) => (error ? reject(error) : resolve()));
  });

const COMMANDS = { "sign-in": signIn, "sign-out": signOut };

/** Exits the process when the client disconnects, or the command has ended. */
export async function runBridge(args: readonly string[] = []): Promise<void> {
  let settings: BridgeSettings;
  try {
    settings = readSettings(process.env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    warn(error.message);
    process.exitCode = 2;
    return;
  }
  const [name, ...rest] = args.filter((arg) => arg !== "--device");
  if (name !== undefined) return runCommand(name, rest, settings, args.includes("--device"));
  const { url, localHubFrom } = settings;
  if (localHubFrom !== undefined)
    warn(`SIGNALBOX_URL is not set; using the local hub at ${url} (${localHubFrom}).`);
  const transport = new StdioServerTransport();
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => void transport.close());
  await serveBridge({ settings, transport, warn, flush });
  process.exit();
}

async function runCommand(
  name: string,
  rest: readonly string[],
  settings: BridgeSettings,
  isDevice: boolean,
): Promise<void> {
  if (!(name === "sign-in" || name === "sign-out") || rest.length > 0) {
    warn(`unexpected argument "${rest[0] ?? name}": use sign-in [--device] or sign-out.`);
    process.exitCode = 2;
    return;
  }
  const print = (message: string) => void process.stdout.write(`${message}\n`);
  const hasBrowser = settings.hasBrowser && !isDevice;
  try {
    await COMMANDS[name]({ settings: { ...settings, hasBrowser }, print });
    process.exit();
  } catch (error) {
    warn(`the ${name} failed: ${causeOf(error)}`);
    process.exit(1);
  }
}
