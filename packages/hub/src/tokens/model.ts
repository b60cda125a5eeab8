import type { Token, TokenKind } from "../kernel/access/scopes.ts";

export interface TokenQuery {
  /** Default: `token`. */
  kind?: TokenKind | undefined;
  /** Only tokens whose `tenants` contain this value, which may be `*`. */
  tenant?: string | undefined;
  /** Only tokens of this person. */
  person?: string | undefined;
  /** Only tokens whose id sorts before this one: the last id of the previous page. */
  before?: string | undefined;
  limit: number;
}

type OptionalInToken = "kind" | "parent" | "person" | "resource";

/** Default: kind `token`, with no parent, person or audience. */
export type NewStoredToken = Omit<Token, OptionalInToken | "revoked_at" | "last_used_at"> &
  Partial<Pick<Token, OptionalInToken>>;
