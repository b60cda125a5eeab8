/** The tokens of a hub that the user has signed in to, in a file that only the user can read. */
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type {
  AuthorizationServerMetadata,
  OAuthClientInformationMixed,
} from "@modelcontextprotocol/client";
import { isRecord } from "./stream-event.ts";

export interface SavedTokens {
  access: string;
  refresh?: string | undefined;
  /** When the access token should be refreshed; null if the hub does not return a lifetime. */
  refreshAt: number | null;
  client: OAuthClientInformationMixed;
  authorizationServer: string;
  metadata: AuthorizationServerMetadata;
  resource: string;
}

export interface TokenFile {
  path: string;
  read(): SavedTokens | undefined;
  write(tokens: SavedTokens): void;
  remove(): void;
}

export function createTokenFile(folder: string, url: string): TokenFile {
  const name = createHash("sha256").update(url).digest("hex").slice(0, 32);
  const path = join(folder, `${name}.tokens.json`);
  return {
    path,
    read() {
      try {
        const saved: unknown = JSON.parse(readFileSync(path, "utf8"));
        return isRecord(saved) && saved.version === 1 && saved.url === url
          ? (saved.tokens as SavedTokens)
          : undefined;
      } catch {
        return undefined; // The user signs in again.
      }
    },
    /** Atomic: another bridge reads the old tokens or the new ones. */
    write(tokens) {
      const temporary = `${path}.${process.pid}.${randomUUID().slice(0, 8)}.tmp`;
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeFileSync(temporary, `${JSON.stringify({ version: 1, url, tokens })}\n`, { mode: 0o600 });
      renameSync(temporary, path);
    },
    remove: () => rmSync(path, { force: true }),
  };
}
