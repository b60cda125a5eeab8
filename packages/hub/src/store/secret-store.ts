/** What flows may use and nobody may read: values that a tenant keeps under a name. */
export interface SecretStore {
  /** Sealed before it comes here. One that is there is replaced. */
  putSecret(tenant: string, name: string, sealed: string, at: number): Promise<void>;
  listSecretNames(
    tenant: string,
  ): Promise<{ name: string; created_at: number; updated_at: number }[]>;
  /** The sealed values of those that are there. */
  getSecrets(tenant: string, names: readonly string[]): Promise<Record<string, string>>;
  /** False where there is none of that name. */
  deleteSecret(tenant: string, name: string): Promise<boolean>;
}
