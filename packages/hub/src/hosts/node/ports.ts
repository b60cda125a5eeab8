/** The ports of the hub that need little code on Node: HMAC, timers, commands and the files of the web UI. */
import { createHmac, createSecretKey, type Hmac, hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate as yieldToIo } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import type { OpenCommand } from "../../connections/command.ts";
import type { MakeHmacKey, Sha256Hex } from "../../kernel/lib/hmac.ts";
import type { Timers } from "../../kernel/lib/timers.ts";
import type { ReadWebFile } from "../../web-ui/web-ui.ts";

/** Uses a `KeyObject`: signing with the raw bytes of a key takes twice as long on Node 24. */
export const nodeHmacKey: MakeHmacKey = (secret) => {
  const key = createSecretKey(secret);
  return {
    sign(parts) {
      const hmac = createHmac("sha256", key);
      if (parts.some(({ byteLength }) => byteLength > LARGE_BYTES)) return signLarge(hmac, parts);
      for (const part of parts) hmac.update(part);
      return hmac.digest();
    },
  };
};

/**
 * Signing 24 MB takes 40 ms, so this yields to the event loop after each slice. Web Crypto would use
 * another thread, but it copies the bytes first, which takes as long.
 */
async function signLarge(hmac: Hmac, parts: readonly Uint8Array[]): Promise<Uint8Array> {
  for (const part of parts)
    for (let at = 0; at < part.byteLength; at += LARGE_BYTES) {
      hmac.update(part.subarray(at, at + LARGE_BYTES));
      await yieldToIo();
    }
  return hmac.digest();
}

/** Synchronous, since Web Crypto would need a thread and a promise for each short text. */
export const nodeSha256Hex: Sha256Hex = (text) => hash("sha256", text, "hex");

/** `defer` is `setImmediate`: pending I/O is handled first, so a group commit contains more requests. */
export const systemTimers: Timers = {
  now: Date.now,
  monotonic: () => performance.now(),
  defer: (work) => void setImmediate(work),
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

/** Variables that the SDK would also pass on. A command gets only PATH, HOME, and those of its connection. */
const NOT_INHERITED = ["LOGNAME", "SHELL", "TERM", "USER"];
const MAX_MESSAGE_BYTES = 8 * 1024 * 1024;
const MAX_STDERR_TAIL = 2_000;

/** Runs MCP servers as child processes, without a shell. */
export const openCommand: OpenCommand = async ({ command, args, env }) => {
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const removed = Object.fromEntries(NOT_INHERITED.map((name) => [name, undefined]));
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    // Node omits variables that are undefined.
    env: { ...removed, ...env } as Record<string, string>,
    stderr: "pipe",
    maxBufferSize: MAX_MESSAGE_BYTES,
  });
  let stderrTail = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    stderrTail = (stderrTail + chunk.toString()).slice(-MAX_STDERR_TAIL);
  });
  return { transport, stderrTail: () => stderrTail };
};

const isSource = import.meta.url.endsWith(".ts");
/** The build writes the files of the web UI into this folder of the hub. */
const FOLDER = fileURLToPath(new URL(isSource ? "../../../dist/web" : "web", import.meta.url));

/** Matches the file names of Vite. No segment starts with a dot, so no path leaves the folder. */
const PATH = /^(?:\/[\w@-][\w@.-]*)+$/;

type Bytes = Uint8Array<ArrayBuffer>;

/** Prefers the compressed files that the build may have written: `NAME.br` and `NAME.gz`. */
export function createReadWebFile(folder = FOLDER): ReadWebFile {
  const readShared = createSharedReads();
  return async (path, accepts) => {
    if (!PATH.test(path)) return undefined;
    const file = join(folder, path);
    const read = path.startsWith("/assets/") ? readShared : readIfExists;
    for (const [encoding, suffix] of [
      ["br", ".br"],
      ["gzip", ".gz"],
    ] as const) {
      const body = accepts(encoding) && (await read(`${file}${suffix}`));
      if (body) return { body, encoding };
    }
    const body = await read(file);
    return body && { body };
  };
}

/**
 * Concurrent responses share the bytes of a file that never changes: many clients that read slowly
 * then need no more memory than one. Bytes that no response uses are garbage-collected.
 */
function createSharedReads(): (file: string) => Promise<Bytes | undefined> {
  const reading = new Map<string, Promise<Bytes | undefined>>();
  const inUse = new Map<string, WeakRef<Bytes>>();
  const read = async (file: string) => {
    try {
      const bytes = await readIfExists(file);
      if (bytes) inUse.set(file, new WeakRef(bytes));
      return bytes;
    } finally {
      reading.delete(file);
    }
  };
  return async (file) => {
    const bytes = inUse.get(file)?.deref();
    if (bytes) return bytes;
    const pending = reading.get(file) ?? read(file);
    reading.set(file, pending);
    return pending;
  };
}

async function readIfExists(file: string): Promise<Bytes | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ENOTDIR", "EISDIR", "ENAMETOOLONG"].includes(code)) return undefined;
    throw error;
  }
}
