/**
 * Defines where each verb of the store runs when every tenant has its own object. Add new verbs here.
 *
 * `registry`: in the registry, which all tenants share. `tenant`: in the store of the tenant that the
 * first argument names. `own`: in the calling object, on its own tables. `combined`: in one or several
 * objects, as compose-store.ts implements it.
 */
import type { VerbTable } from "../../kernel/store/verbs.ts";

export type Place = "registry" | "tenant" | "own" | "combined";

// biome-ignore format: a table
export const PLACES = {
  appendEvents: "combined", getTenant: "combined", putTenant: "combined", listTenants: "combined", queueRuns: "combined",
  putInstallation: "combined", exportRows: "combined", startDeletion: "combined", continueDeletion: "combined",

  renameTenant: "registry", findInstallation: "registry", listInstallations: "registry",
  putToken: "registry", replaceTokens: "registry", findToken: "registry", getToken: "registry", listTokens: "registry",
  revokeToken: "registry", countChildren: "registry", touchTokens: "registry", sweepSessions: "registry",
  putSource: "registry", findSource: "registry", listSources: "registry", deleteSource: "registry",
  addSourceSecret: "registry", expireSourceSecret: "registry",
  registerOAuthClient: "registry",
  putOAuthClient: "registry", getOAuthClient: "registry", createOAuthGrant: "registry", getOAuthGrant: "registry",
  findPendingGrant: "registry", decideOAuthGrant: "registry", redeemOAuthGrant: "registry", findGrantByFamily: "registry",
  rotateOAuthGrant: "registry", revokeOAuthGrant: "registry", listOAuthGrants: "registry", sweepOAuth: "registry",
  putPerson: "registry", getPerson: "registry", leasePerson: "registry", endPerson: "registry", sweepPeople: "registry",
  requestRedeliverySweep: "registry", leaseRedeliverySweep: "registry", recordAttempts: "registry", dueRedeliveries: "registry",
  changeRedelivery: "registry", retryRedelivery: "registry", finishRedeliverySweep: "registry", getRedeliverySweep: "registry", listRedeliveries: "registry",
  countRedeliveries: "registry",
  // The cursors of all tenants belong to one deployment.
  getLogId: "registry",

  pendingStatus: "tenant", listEvents: "tenant", searchEvents: "tenant", getEvent: "tenant", getPayload: "tenant",
  findExternalIds: "tenant", slicePayload: "tenant", markProcessed: "tenant", reopenEvents: "tenant", claimEvents: "tenant", claimEvent: "tenant",
  markClaimedProcessed: "tenant", releaseEvents: "tenant", listEventTypes: "tenant", listRecentTypes: "tenant", countReceived: "tenant",
  createApp: "tenant", getApp: "tenant", listApps: "tenant", updateApp: "tenant", deleteApp: "tenant",
  createFlow: "tenant", editFlow: "tenant", saveFlows: "tenant", getFlow: "tenant", listFlows: "tenant",
  readQueue: "tenant", listTriggerStates: "tenant", listDraftStates: "tenant", findToolOwner: "tenant", deleteFlow: "tenant",
  publishFlow: "tenant", rollBackFlow: "tenant", saveDraftVersion: "tenant", listVersions: "tenant", getVersion: "tenant",
  listTools: "tenant", findTool: "tenant", getTrigger: "tenant", findTriggers: "tenant", listEventTriggers: "tenant",
  countVerdicts: "tenant",
  listTrips: "tenant", getRun: "tenant", previewRun: "tenant", findRun: "tenant", listRuns: "tenant",
  listRunSummaries: "tenant", lastRuns: "tenant", countRunsByPeriod: "tenant", listRunTimes: "tenant", countRuns: "tenant",
  listSteps: "tenant", countSteps: "tenant", measureValue: "tenant", readValue: "tenant", enableStepNotices: "tenant",
  cancelRun: "tenant", retryRun: "tenant", listVerdicts: "tenant", listDeferred: "tenant", listSchedules: "tenant",
  putSecret: "tenant", listSecretNames: "tenant", getSecrets: "tenant", deleteSecret: "tenant",
  createConnection: "tenant", updateConnection: "tenant", deleteConnection: "tenant", getConnection: "tenant",
  listConnections: "tenant", getOffers: "tenant", touchConnection: "tenant", listTriggerSubscriptions: "tenant",
  listSubscriptionStates: "tenant", renewSubscriptions: "tenant", rotateCallbackToken: "tenant",
  getGrant: "tenant", beginAuthorization: "tenant", takeAuthorization: "tenant", leaseGrant: "tenant", saveGrant: "tenant",

  listDeletions: "own", countPending: "own", sumBytes: "own", sweep: "own", sweepTenants: "own", sweepRuns: "own", sweepFlows: "own", migrateLegacyFlows: "own", sampleSealed: "own", listSealed: "own", replaceSealed: "own",
  startRun: "own", prepareRun: "own", startInLane: "own", claimRuns: "own", renewRuns: "own", saveProgress: "own",
  nextDue: "own", releaseRuns: "own", measureQueues: "own", saveRunWaits: "own", loadOutput: "own", fireSchedules: "own", nextScheduleDue: "own",
  claimMatching: "own", finishMatching: "own", moveMatching: "own", nextMatchingDue: "own", countMatching: "own",
  leaseConnections: "own", renewConnections: "own", finishConnection: "own", dropFormerServers: "own",
  saveSubscriptions: "own", nextConnectionDue: "own", releaseConnections: "own",
  stageCallbackToken: "own", confirmCallbackToken: "own", rejectCallbackToken: "own", findCallbackToken: "own",
  putSubscription: "own", findSubscription: "own", countSubscriptions: "own", removeSubscription: "own", leaseSubscriptions: "own",
  releaseSubscriptions: "own", recordProgress: "own", isVerified: "own", putVerification: "own",
  checkWritable: "own", observeClock: "own", acceptClock: "own", getClock: "own",
} as const satisfies Record<keyof VerbTable, Place>;

export type PlacedVerb = keyof typeof PLACES;
