import { isLoopback } from "../ingest/addresses.ts";

/**
 * Whether a `Host` header names this hub. A page of another site that got its own name to point at
 * us (DNS rebinding) comes with that name; addresses and our public name are fine.
 */
export function createIsOurHost({
  host,
  publicUrl,
}: {
  host: string;
  publicUrl: string | undefined;
}): (header: string) => boolean {
  const names = new Set([host.toLowerCase()]);
  if (publicUrl !== undefined) names.add(new URL(publicUrl).hostname.toLowerCase());
  return (header) => {
    if (!URL.canParse(`http://${header}`)) return false;
    const { hostname } = new URL(`http://${header}`);
    return names.has(hostname) || isLoopback(hostname) || isAddress(hostname);
  };
}

const isAddress = (name: string) => /^[\d.]+$/.test(name) || name.startsWith("[");
