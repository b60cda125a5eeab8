/** `signalbox bridge sign-in` and `sign-out`: for the user, in a terminal. */
import { spawn } from "node:child_process";
import type { BridgeSettings } from "./bridge-settings.ts";
import { causeOf } from "./hub-error.ts";
import { createSignIn } from "./sign-in.ts";
import { createTokenFile } from "./token-file.ts";

interface CommandOptions {
  settings: BridgeSettings;
  print: (message: string) => void;
  openPage?: (url: string) => void;
}

/** Resolves when the user is signed in. */
export async function signIn({ settings, print, openPage = openInBrowser }: CommandOptions) {
  const { url, stateFolder, hasBrowser } = settings;
  const { signal } = new AbortController();
  const { instruction, open, done } = await createSignIn({ url, fetch, hasBrowser, signal })();
  // Nothing else keeps the process running.
  const running = setInterval(() => {}, 60_000);
  try {
    print(`${instruction} This command waits until you are signed in.`);
    if (hasBrowser) openPage(open);
    const tokens = await done;
    createTokenFile(stateFolder, url).write(tokens);
    print(`You are signed in to the hub at ${url}.`);
  } finally {
    clearInterval(running);
  }
}

/** Deletes the tokens, and revokes them if the hub can be reached. */
export async function signOut({ settings, print }: CommandOptions): Promise<void> {
  const { url, stateFolder } = settings;
  const file = createTokenFile(stateFolder, url);
  const saved = file.read();
  file.remove();
  if (!saved) return print(`You were not signed in to the hub at ${url}.`);
  const { client, metadata, refresh, access } = saved;
  const endpoint = "revocation_endpoint" in metadata ? metadata.revocation_endpoint : undefined;
  const form = new URLSearchParams({ client_id: client.client_id, token: refresh ?? access });
  try {
    if (endpoint !== undefined) await fetch(endpoint, { method: "POST", body: form });
    print(`You are signed out of the hub at ${url}.`);
  } catch (error) {
    print(
      `The sign-in is deleted here, but the hub at ${url} cannot be reached (${causeOf(error)}): it stays valid there until it expires.`,
    );
  }
}

function openInBrowser(url: string): void {
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["cmd", "/c", "start", "", url]
        : ["xdg-open", url];
  spawn(command as string, args, { stdio: "ignore", detached: true })
    .on("error", () => {}) // the instruction names the page
    .unref();
}
