import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import {
  createSchemaValidator,
  type SchemaCheck,
  type ValidateSchemas,
  validateInPlace,
} from "@signalbox/rules/flows/validate-schema.ts";
import type { Json } from "@signalbox/rules/json.ts";

/** Validates for a tenant, whose evaluations share a queue. */
export const createTenantValidator = (
  _evaluate: Evaluate,
  _caller: { tenant: string; signal: AbortSignal },
): ValidateSchemas =>
  // TODO(json-schema): evaluate in the sandbox once it has the language "json-schema".
  createSchemaValidator(async ({ data }) => ({
    output: (data as unknown as SchemaCheck[]).map((one) => (validateInPlace(one) ?? null) as Json),
  }));
