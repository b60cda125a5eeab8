/** Each listed tenant costs a read, on Cloudflare in an object of its own. */
const MAX_LISTED = 20;

interface TenantList {
  listTenants(
    after: string,
    limit: number,
  ): Promise<readonly { id: string; name: string | null; deleting: boolean }[]>;
}

export type DescribeTenantChoice = () => Promise<string>;

export const TENANT_CHOICE =
  "The token is valid for all tenants: name one with ?tenant=ID in the URL, or with the header X-Signalbox-Tenant.";

export const createTenantChoice =
  ({ listTenants }: TenantList): DescribeTenantChoice =>
  async () => {
    const stored = await listTenants("", MAX_LISTED + 1);
    const tenants = stored.filter(({ deleting }) => !deleting).slice(0, MAX_LISTED);
    if (tenants.length === 0)
      return `${TENANT_CHOICE} There is no tenant yet: an account becomes one when it installs the GitHub App.`;
    const names = tenants.map(({ id, name }) => (name === null ? id : `${id} (${name})`));
    const more = stored.length > MAX_LISTED ? ", and more: GET /api/tenants lists all" : "";
    return `${TENANT_CHOICE} Tenants: ${names.join(", ")}${more}.`;
  };
