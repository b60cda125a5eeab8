export interface FoundCallbackToken {
  tenant: string;
  connection: string;
  subscription: string;
  /** Null for the current token, and for a new token that the server has not confirmed. */
  expires_at: number | null;
  /** Whether no subscription wants the events any more: the triggers are inactive or removed. */
  isGone: boolean;
}
