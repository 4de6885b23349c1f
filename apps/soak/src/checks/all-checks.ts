import type { InvariantName } from '@runledger/testing/invariants';
import type { Check, Evidence, Violation } from '../evidence/evidence.ts';
import { archive } from './archive.ts';
import { deletions, inputFiles, logs } from './contents.ts';
import { fullStores, permissions, refusals, serviceHealth, tenancy } from './edges.ts';
import { readsNeverGoBack } from './reads-never-go-back.ts';
import { acceptedRuns, attempts, cancels, expiry, queuedOnce, soundRuns } from './runs.ts';
import { notifications, streams, views } from './responses.ts';
import { drains, fairShare, slots, violationsInFacts } from './slots.ts';

/** Which observations show which invariant. */
export const CHECKS: Readonly<Partial<Record<InvariantName, Check>>> = {
  'accepted-runs': acceptedRuns,
  expiry,
  'queued-once': queuedOnce,
  'reads-never-go-back': readsNeverGoBack,
  archive,
  'one-result': attempts,
  'sound-runs': soundRuns,
  cancels,
  notifications,
  views,
  streams,
  drains,
  deletions,
  'input-files': inputFiles,
  logs,
  tenancy,
  permissions,
  refusals,
  'full-stores': fullStores,
  'fair-share': fairShare,
  slots,
  'service-health': serviceHealth,
};

/** Every violation of an invariant, by the facts of the log and by observations. */
export const violationsIn = (evidence: Evidence): Violation[] => [
  ...violationsInFacts(evidence),
  ...Object.entries(CHECKS).flatMap(([invariant, check]) =>
    check(evidence).map((found) => ({ invariant: invariant as InvariantName, ...found })),
  ),
];
