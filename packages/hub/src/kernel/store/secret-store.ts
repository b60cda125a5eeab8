/** A sealed text of the database, or JSON with several, and its place. */
export interface SealedText {
  /** TABLE.COLUMN */
  column: string;
  /** The primary key of the row. */
  key: string[];
  text: string;
}

/** Named secrets of a tenant. Flows use them; no API returns their values. */
export interface SecretStore {
  /** Creates or replaces a secret. The caller encrypts the value; see lib/seal.ts. */
  putSecret(tenant: string, name: string, sealed: string, at: number): Promise<void>;
  listSecretNames(
    tenant: string,
  ): Promise<{ name: string; created_at: number; updated_at: number }[]>;
  /** Returns the encrypted values of those names that exist. */
  getSecrets(tenant: string, names: readonly string[]): Promise<Record<string, string>>;
  /** False if the secret does not exist. */
  deleteSecret(tenant: string, name: string): Promise<boolean>;
  /** One encrypted value of each kind. The hub decrypts them to check its encryption key. */
  sampleSealed(): Promise<{ kind: string; sealed: string }[]>;
  /** A page of all sealed texts. It continues after `after`, and is empty at the end. */
  listSealed(after: Omit<SealedText, "text"> | undefined, limit: number): Promise<SealedText[]>;
  /** Replaces those texts that have not changed meanwhile, and returns their number. */
  replaceSealed(changes: readonly (SealedText & { by: string })[]): Promise<number>;
}
