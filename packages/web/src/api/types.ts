/** The types of the API's responses, derived from the hub's code. Only types are imported. */
import type { z } from "zod";
import type {
  connectionDetails,
  connectionView,
  offeredTrigger,
  subscriptionView,
  toolResult,
  toolView,
} from "../../../hub/src/connections/connection-routes.ts";
import type {
  kindView,
  rejectionCountView,
  typeView,
} from "../../../hub/src/events/endpoints/source-kind-routes.ts";
import type { sourceView, withSecret } from "../../../hub/src/events/endpoints/source-routes.ts";
import type { sentView } from "../../../hub/src/events/endpoints/test-event-routes.ts";
import type { bulkResult } from "../../../hub/src/events/inbox/event-list-routes.ts";
import type { eventResponse, explanationPage } from "../../../hub/src/events/inbox/event-routes.ts";
import type {
  explainedSchema,
  itemSchema,
  reasonSchema,
} from "../../../hub/src/events/inbox/event-schema.ts";
import type { Inbox } from "../../../hub/src/events/inbox/inbox.ts";
import type { triggerView, versionView } from "../../../hub/src/flows/editing/flow-routes.ts";
import type { nodeTypeView } from "../../../hub/src/flows/editing/node-type-routes.ts";
import type { toolNameView } from "../../../hub/src/flows/editing/tool-name-routes.ts";
import type { previewView } from "../../../hub/src/flows/editing/trigger-routes.ts";
import type { Explainer } from "../../../hub/src/flows/matching/explain.ts";
import type { queueView } from "../../../hub/src/flows/runs/queue-routes.ts";
import type { runsChanged, runWithSteps } from "../../../hub/src/flows/runs/run-routes.ts";
import type { secretView } from "../../../hub/src/flows/secrets/secret-routes.ts";
import type { appView, flowSummary, flowView, runSummary } from "../../../hub/src/flows/views.ts";
import type { oauthGrantView } from "../../../hub/src/oauth/oauth-grant-routes.ts";
import type { settingView } from "../../../hub/src/operations/settings-routes.ts";
import type { statsView } from "../../../hub/src/operations/stats-routes.ts";
import type { storageView } from "../../../hub/src/operations/storage-routes.ts";
import type { signInMethodsView } from "../../../hub/src/people/github-sign-in.ts";
import type { tenantDetails, tenantView } from "../../../hub/src/tenants/tenant-routes.ts";
import type { sessionView } from "../../../hub/src/tokens/session-routes.ts";
import type { createdToken, tokenView } from "../../../hub/src/tokens/token-routes.ts";

export type Queue = z.output<typeof queueView>;

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
}

/** An event in a list. */
export type EventItem = z.output<typeof itemSchema>;
export type EventView = z.output<typeof eventResponse>;
export type EventHeadersView = Awaited<ReturnType<Inbox["getHeaders"]>>;
export type ExplainedTrigger = z.output<typeof explainedSchema> & {
  reasons: z.output<typeof reasonSchema>[];
};
export type Explanation = Page<ExplainedTrigger> &
  Pick<z.output<typeof explanationPage>, "total" | "started">;
export type BulkResult = z.output<typeof bulkResult>;
export type ReplayResult = Awaited<ReturnType<Explainer["replay"]>>;

export type App = z.output<typeof appView>;
export type Flow = z.output<typeof flowView>;
export type FlowSummary = z.output<typeof flowSummary>;
/** A flow in the list of all flows. */
export type FlowItem = FlowSummary & { last_run: RunItem | null };

export type FlowVersion = z.output<typeof versionView>;
/** A trigger of the published version: its state, when it last fired, and when it fires next. */
export type TriggerState = z.output<typeof triggerView>;
/** The events that a trigger would match. */
export type TriggerPreview = z.output<typeof previewView>;
export type NodeType = z.output<typeof nodeTypeView>;
export type ToolNameView = z.output<typeof toolNameView>;

/** A run in a list, without its input and output. */
export type RunItem = z.output<typeof runSummary>;
export type RunsChanged = z.output<typeof runsChanged>;
export type RunWithSteps = z.output<typeof runWithSteps>;

export type Connection = z.output<typeof connectionView>;
export type ConnectionDetails = z.output<typeof connectionDetails>;
export type ConnectionTool = z.output<typeof toolView>;
export type CalledTool = z.output<typeof toolResult>;
export type Subscription = z.output<typeof subscriptionView>;
/** A trigger that the server of a connection offers. */
export type OfferedTrigger = z.output<typeof offeredTrigger>;

export type Tenant = z.output<typeof tenantView>;
/** A tenant with its limits. */
export type TenantDetails = z.output<typeof tenantDetails>;
export type Session = z.output<typeof sessionView>;
export type SignInMethods = z.output<typeof signInMethodsView>;
export type Token = z.output<typeof tokenView>;
export type OAuthGrant = z.output<typeof oauthGrantView>;
export type Secret = z.output<typeof secretView>;
export type Setting = z.output<typeof settingView>;
export type CreatedToken = z.output<typeof createdToken>;

export type EventType = z.output<typeof typeView>;
export type SourceKind = z.output<typeof kindView>;
export type Source = z.output<typeof sourceView>;
export type SourceWithSecret = z.output<typeof withSecret>;
export type RejectionCount = z.output<typeof rejectionCountView>;
export type TestEventSent = z.output<typeof sentView>;
export type DatabaseSize = z.output<typeof storageView>;
export type Stats = z.output<typeof statsView>;
