import { EVERY_TENANT } from "../../kernel/access/scopes.ts";
import type { Store } from "../../store.ts";
import { type RegistryCalls, storeObject } from "./bindings.ts";
import { composeStore, connectStore } from "./compose-store.ts";
import { deleteEarlierRows, migrateEarlierInstallations } from "./earlier-tables.ts";
import { HubObject } from "./hub-object.ts";

/**
 * The object `global`. Stores tenants, installations, tokens, webhook endpoints, people and OAuth. Its hub
 * serves the requests that routes.ts assigns to no tenant, and the first webhook of an installation.
 */
export class TenantRegistry extends HubObject implements RegistryCalls {
  protected override async prepare(): Promise<void> {
    const { own } = this;
    await migrateEarlierInstallations(this.ctx.storage, own, Date.now());
    this.own = {
      ...own,
      startDeletion: (tenant, at) => {
        // Rows of the earlier Worker; see earlier-tables.ts.
        deleteEarlierRows(this.ctx.storage, tenant);
        return own.startDeletion(tenant, at);
      },
    };
  }

  protected override compose(own: Store) {
    const storeOf = (tenant: string) => connectStore(() => storeObject(this.env, tenant));
    return { store: composeStore({ own, registry: own, storeOf }), hasRegistry: true };
  }

  async tenantsOf(hash: string): Promise<readonly string[]> {
    const token = await this.own.findToken(hash);
    if (!token || token.person === null) return token?.tenants ?? [];
    const memberships = (await this.own.getPerson(token.person))?.memberships ?? [];
    return memberships
      .map(({ tenant }) => tenant)
      .filter((tenant) =>
        token.tenants.some((granted) => granted === tenant || granted === EVERY_TENANT),
      );
  }

  async tenantOfKey(key: string): Promise<string | undefined> {
    return (await this.own.findSource(key))?.tenant;
  }

  async tenantOfInstallation(id: string): Promise<string | undefined> {
    return (await this.own.findInstallation(id))?.tenant;
  }

  async hasTenant(id: string): Promise<boolean> {
    return id !== EVERY_TENANT && (await this.own.getTenant(id)) !== undefined;
  }
}
