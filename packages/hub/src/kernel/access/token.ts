import type { Scope } from "./scopes.ts";

/**
 * `sign_in`: a code that can be exchanged once for a session. `session`: a browser that is signed in.
 * `oauth`: an access token of an OAuth client, whose parent is its grant. Only `token` and `oauth` are
 * accepted as bearer tokens.
 */
export type TokenKind = "token" | "sign_in" | "session" | "oauth";

export interface Token {
  id: string;
  kind: TokenKind;
  /**
   * The token that created this code or session, or the grant of an OAuth token. Revoking the parent
   * revokes this token.
   */
  parent: string | null;
  name: string;
  hash: string;
  scopes: Scope[];
  /** The tenants whose data the token can access; `*` means all tenants. */
  tenants: string[];
  created_at: number;
  expires_at: number | null;
  revoked_at: number | null;
  /** When the token was last used, to the minute. */
  last_used_at: number | null;
  /** The person whom the token represents; null if it represents none, such as a token of the operator. */
  person: string | null;
  /** The audience: the URL of the only resource that accepts the token. Null: all resources accept it. */
  resource: string | null;
}
