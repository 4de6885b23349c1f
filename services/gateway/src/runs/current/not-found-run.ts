import type { CurrentRun } from './current-run.ts';
import { Refused } from '../../http/refusal.ts';

/** Why a run is not shown. */
export const notFoundRun = (found: Exclude<CurrentRun, { kind: 'found' }>): Refused => {
  switch (found.kind) {
    case 'none':
      return new Refused({ kind: 'not_found', what: 'Run' });
    case 'views_away':
      return new Refused({
        kind: 'unavailable',
        why: 'The store of older runs cannot be reached now, and the log does not have this one. Try again',
      });
    case 'unreadable':
      return new Refused({ kind: 'unavailable', why: `The run cannot be read now: ${found.why}` });
  }
};
