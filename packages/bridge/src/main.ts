/** The entry point of the bundle. */
import { runBridge } from "./run-bridge.ts";

await runBridge(process.argv.slice(2));
