import { isEnded } from '@runledger/contracts/fold/run';
import type { Check } from '../evidence/evidence.ts';
import { lastOf } from '../evidence/logged-run.ts';

const guarantee = 'No fault of a process ends a run as internal_error.';

/** Every run of a soak is sound. Whatever is away, it waits for it, or begins again. */
export const soundRuns: Check = ({ runs }) =>
  [...runs].flatMap(([run, logged]) => {
    const last = lastOf(logged);
    if (!last || !isEnded(last) || last.end_reason !== 'internal_error') return [];
    return [{ guarantee, run, message: `It ended as internal_error: ${last.error?.message}` }];
  });
