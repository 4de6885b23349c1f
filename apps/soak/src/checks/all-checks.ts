import type { Check, Evidence, Violation } from '../evidence/evidence.ts';
import { acceptedRuns } from './accepted-runs.ts';
import { attempts } from './attempts.ts';
import { serviceHealth } from './service-health.ts';
import { cancels } from './cancels.ts';
import { drains } from './drains.ts';
import { notifications } from './notifications.ts';
import { queuedOnce } from './queued-once.ts';
import { readsNeverGoBack } from './reads-never-go-back.ts';
import { soundRuns } from './sound-runs.ts';
import { streams } from './streams.ts';
import { tenancy } from './tenancy.ts';
import { views } from './views.ts';

const CHECKS: readonly Check[] = [
  acceptedRuns,
  queuedOnce,
  readsNeverGoBack,
  soundRuns,
  attempts,
  cancels,
  notifications,
  views,
  streams,
  drains,
  tenancy,
  serviceHealth,
];

/** Every violation of a guarantee. */
export const violationsIn = (evidence: Evidence): Violation[] => CHECKS.flatMap((check) => check(evidence));
