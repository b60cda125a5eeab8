/** All routes of the API, and the types of the JSON that they accept and return. */
import { redeliveryApi } from "./redelivery.ts";

export type * from "./redelivery.ts";

export const routes = [...Object.values(redeliveryApi)];

/** Any route of the API: `createClient<Routes>`. */
export type Routes = (typeof routes)[number];
