/** What a capability is to the hub. `part.ts` in the folder of a capability creates it. */
import type { Hono } from "hono";
import type { HostPorts, HubSettings } from "./host-ports.ts";
import { LOCAL_TENANT } from "./kernel/access/scopes.ts";
import { createHostCheck, type HostCheck } from "./kernel/http/host-check.ts";
import type { OtherPage } from "./kernel/http/html-page.ts";
import type { Route } from "./kernel/http/route.ts";
import { createIds } from "./kernel/lib/ids.ts";
import { createSeal, type Seal } from "./kernel/lib/seal.ts";
import { reportDue, type Timers, withTimeout } from "./kernel/lib/timers.ts";
import type { McpOffer } from "./kernel/mcp/offer.ts";
import { isStorageUnavailable } from "./kernel/store/availability.ts";
import type { Store } from "./store.ts";

export interface Part {
  /** Routes of the HTTP API. */
  routes?: readonly Route[];
  /** The pages among the routes that `mount` adds. */
  pages?: readonly OtherPage[];
  /** Adds other routes, such as pages. */
  mount?(app: Hono): void;
  /** What the part adds to the MCP server `/mcp`. It is loaded when a client first calls the server. */
  loadMcp?(): Promise<McpOffer>;
  /** Starts background work, when the hub listens. */
  start?(addresses: Addresses): void;
  /** Stops background work and waits for it. All parts stop at the same time. */
  stop?(): Promise<unknown> | undefined;
  /** Releases what other parts use until they have stopped, in the reverse order of the parts. */
  close?(): Promise<unknown>;
}

export interface Addresses {
  /** The address where the hub listens. */
  url: string;
  /** The address under which clients reach the hub, without a trailing slash. */
  publicUrl: string;
}

/** What the host passes to the hub. */
export interface HubOptions {
  store: Store;
  ports: HostPorts;
  settings: HubSettings;
}

/** What every part gets. */
export interface Kernel extends HubOptions {
  seal: Seal;
  newId: () => string;
  onError: (error: unknown) => void;
  checkHost: HostCheck;
  /** The tenant of all events; undefined if the hub has several tenants. */
  tenant: string | undefined;
  /** Aborted when the hub stops. */
  closing: AbortSignal;
  /** Resolves when the hub has started. */
  addresses: Promise<Addresses>;
}

export function createKernel(
  { store, ports, settings }: HubOptions,
  closing: AbortSignal,
  addresses: Promise<Addresses>,
): Kernel {
  const { log, wakeAt } = ports;
  const timers = wakeAt ? reportDue(ports.timers, wakeAt) : ports.timers;
  return {
    store,
    ports: { ...ports, timers },
    settings,
    seal: createSeal(settings.sealKey, settings.formerSealKeys),
    newId: createIds(),
    onError(error) {
      if (!isStorageUnavailable(error)) log.error({ err: error }, "unexpected error");
    },
    checkHost: createHostCheck(settings),
    tenant: settings.tenancy === "single" ? LOCAL_TENANT : undefined,
    closing,
    addresses,
  };
}

/**
 * Stops all parts and the server of the host, then closes the parts. Each step has a share of `timeoutMs`, which
 * leaves time for later ones. Throws the first error, after all steps.
 */
export async function stopParts(
  parts: readonly Part[],
  { timers, timeoutMs, closeServer }: StopOptions,
): Promise<void> {
  const stoppedAt = performance.now();
  const errors: unknown[] = [];
  const finish = async (share: number, work: () => Promise<unknown>, message: string) => {
    const left = Math.max(0, stoppedAt + timeoutMs * share - performance.now());
    await withTimeout(timers, left, work(), message).catch((error) => errors.push(error));
  };
  const stopAll = () =>
    Promise.all([...parts.map((part) => part.stop?.()), closeServer(timeoutMs * 0.8)]);
  await finish(0.85, stopAll, "Some requests did not finish in time.");
  const closing = parts.flatMap((part) => (part.close ? [part] : [])).reverse();
  for (const [index, part] of closing.entries())
    await finish(
      0.85 + (0.15 * (index + 1)) / closing.length,
      async () => part.close?.(),
      "Some work did not end in time.",
    );
  if (errors.length > 0) throw errors[0];
}

interface StopOptions {
  timers: Timers;
  timeoutMs: number;
  /** Resolves when the host has no open requests. */
  closeServer(timeoutMs: number): Promise<void>;
}
