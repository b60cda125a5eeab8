/** The hosts of a story: the built hub on Node with SQLite, and the built Worker in workerd. */
import { type HubProcess, type HubProcessOptions, startHubProcess } from "./hub-process.ts";
import { startWorkerProcess } from "./worker-process.ts";

export type Host = "Node" | "workerd";
export const hosts: readonly Host[] = ["Node", "workerd"];

export const startOn = (host: Host, options: HubProcessOptions): Promise<HubProcess> =>
  host === "workerd" ? startWorkerProcess(options) : startHubProcess(options);

/** The settings with which CLI commands find a hub: on Node by its data folder, in workerd by its URL. */
export const commandSettings = (
  host: Host,
  hub: HubProcess,
  { data, token }: { data: string; token: string },
): Record<string, string> => ({
  SIGNALBOX_TOKEN: token,
  ...(host === "workerd" ? { SIGNALBOX_URL: hub.url } : { SIGNALBOX_DATA: data }),
});
