import type { Check, Evidence, Violation } from '../evidence/evidence.ts';
import { acceptedRuns } from './accepted-runs.ts';
import { attempts } from './attempts.ts';
import { bystanders } from './bystanders.ts';
import { cancels } from './cancels.ts';
import { notifications } from './notifications.ts';
import { queuedOnce } from './queued-once.ts';
import { readsNeverGoBack } from './reads-never-go-back.ts';
import { streams } from './streams.ts';
import { views } from './views.ts';

const CHECKS: readonly Check[] = [
  acceptedRuns,
  queuedOnce,
  readsNeverGoBack,
  attempts,
  cancels,
  notifications,
  views,
  streams,
  bystanders,
];

/** Everything that is not as it was promised. */
export const violationsIn = (evidence: Evidence): Violation[] => CHECKS.flatMap((check) => check(evidence));
