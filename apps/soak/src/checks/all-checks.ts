import type { Check, Evidence, Violation } from '../evidence/evidence.ts';
import { acceptedRuns } from './accepted-runs.ts';
import { attempts } from './attempts.ts';
import { serviceHealth } from './service-health.ts';
import { cancels } from './cancels.ts';
import { deletions } from './deletions.ts';
import { drains } from './drains.ts';
import { inputFiles } from './input-files.ts';
import { logs } from './logs.ts';
import { notifications } from './notifications.ts';
import { queuedOnce } from './queued-once.ts';
import { expiry } from './expiry.ts';
import { refusals } from './refusals.ts';
import { fullStores } from './full-stores.ts';
import { permissions } from './permissions.ts';
import { readsNeverGoBack } from './reads-never-go-back.ts';
import { soundRuns } from './sound-runs.ts';
import { streams } from './streams.ts';
import { fairShare } from './fair-share.ts';
import { slotLimits } from './slot-limits.ts';
import { tenancy } from './tenancy.ts';
import { views } from './views.ts';

export interface NamedCheck {
  readonly name: string;
  /** Of ARCHITECTURE.md, by their numbers. */
  readonly invariants: readonly number[];
  readonly check: Check;
}

export const CHECKS: readonly NamedCheck[] = [
  { name: 'accepted-runs', invariants: [1, 16], check: acceptedRuns },
  { name: 'expiry', invariants: [1, 8], check: expiry },
  { name: 'queued-once', invariants: [9], check: queuedOnce },
  { name: 'reads-never-go-back', invariants: [2], check: readsNeverGoBack },
  { name: 'attempts', invariants: [3], check: attempts },
  { name: 'sound-runs', invariants: [6], check: soundRuns },
  { name: 'cancels', invariants: [1, 4], check: cancels },
  { name: 'notifications', invariants: [8], check: notifications },
  { name: 'views', invariants: [5, 11], check: views },
  { name: 'streams', invariants: [10], check: streams },
  { name: 'drains', invariants: [15], check: drains },
  { name: 'deletions', invariants: [9, 17], check: deletions },
  { name: 'input-files', invariants: [7, 16], check: inputFiles },
  { name: 'logs', invariants: [7, 16], check: logs },
  { name: 'tenancy', invariants: [7], check: tenancy },
  { name: 'permissions', invariants: [13], check: permissions },
  { name: 'refusals', invariants: [16], check: refusals },
  { name: 'full-stores', invariants: [16], check: fullStores },
  { name: 'fair-share', invariants: [18], check: fairShare },
  { name: 'slot-limits', invariants: [18], check: slotLimits },
  { name: 'service-health', invariants: [6, 16], check: serviceHealth },
];

/** Every violation of a guarantee. */
export const violationsIn = (evidence: Evidence): Violation[] =>
  CHECKS.flatMap(({ check }) => check(evidence));
