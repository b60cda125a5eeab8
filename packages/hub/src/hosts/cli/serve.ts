import { assertNoMoreArguments, type Command } from "@signalbox/cli/src/index.ts";
import { definitions } from "../../settings.ts";
import { loadSettings } from "../node/load-settings.ts";
import type { Logger } from "../node/log.ts";
import type { RunningHub } from "../node/start-hub.ts";
import { version } from "../version.ts";
import { formatBanner, operatorTokenCommand } from "./banner.ts";

export const serve: Command = {
  name: "serve",
  usage: "[options]",
  summary: "start the hub",
  options: {},
  settings: [...Object.keys(definitions).filter((name) => name !== "url"), "secrets"],
  async run({ positionals, flags }) {
    assertNoMoreArguments(positionals);
    const settings = loadSettings(flags);
    // Loaded only here, since the other commands start faster without the hub.
    const { createLog } = await import("../node/log.ts");
    const { startHub } = await import("../node/start-hub.ts");
    const log = await createLog({ level: settings.logLevel, format: settings.logFormat });
    const hub = await startHub({ settings, log, version });
    const startedIn = Math.round(performance.now());
    const stopped = stopOnSignal(hub, log);
    // If stdout is not a terminal, it contains only log lines.
    (process.stdout.isTTY ? process.stdout : process.stderr).write(
      `${formatBanner(hub, settings, version)}\n`,
    );
    log.info({ url: hub.url, storage: hub.store.backend, startedIn }, "listening");
    if (!hub.hasOperatorToken)
      log.warn(
        `no admin token for all tenants is active. This command creates one: ${operatorTokenCommand(settings)}`,
      );
    if (hub.acceptsUnsigned)
      log.warn("webhooks of sources without a secret are not verified: set GITHUB_WEBHOOK_SECRET");

    await stopped;
    log.info("stopped");
    await new Promise<void>((resolve) => log.flush(() => resolve()));
  },
};

/**
 * A second signal within this time is ignored: after Ctrl+C, the terminal sends a signal to the hub, and
 * `npm start` forwards its own one.
 */
const DUPLICATE_SIGNAL_MS = 2_000;

/** Resolves when the hub has stopped, after the first signal. */
const stopOnSignal = (hub: RunningHub, log: Logger): Promise<void> =>
  new Promise((resolve) => {
    const ignore = () => {};
    const removeListeners = () =>
      process.removeAllListeners("SIGINT").removeAllListeners("SIGTERM");
    const stop = (signal: NodeJS.Signals) => {
      removeListeners();
      process.on("SIGINT", ignore).on("SIGTERM", ignore);
      // After this time, a second signal has its default action: it ends the process immediately.
      setTimeout(removeListeners, DUPLICATE_SIGNAL_MS).unref();
      log.info({ signal }, "stopping");
      hub.stop().then(resolve, (error) => {
        log.error({ err: error }, "stopping failed");
        process.exitCode = 1;
        resolve();
      });
    };
    process.on("SIGINT", stop).on("SIGTERM", stop);
  });
