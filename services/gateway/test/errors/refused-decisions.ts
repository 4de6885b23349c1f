import { newUuid, orgId } from '@runledger/contracts/ids';
import { EventTooLarge } from '@runledger/event-log/append/append';
import { changed } from '../../src/catalogue/record-answers.ts';
import { Refused } from '../../src/http/refusal.ts';
import { responseTo } from '../../src/http/refusal-responses.ts';
import { knownFailures } from '../../src/known-failures.ts';
import { refuseWhenFull } from '../../src/runs/subscribe/refuse-when-full.ts';
import { refusalOf } from '../../src/server/refusal-of.ts';
import type { ProvokedRefusal } from './a-scene.ts';

const HOLDER = { org_id: orgId(newUuid()), family: 'a' };

const answered = (error: unknown): ProvokedRefusal =>
  responseTo(refusalOf(error, knownFailures), 'a-request');

const refusalIn = (decide: () => unknown): ProvokedRefusal => {
  try {
    decide();
  } catch (error) {
    return answered(error);
  }
  throw new Error('nothing was refused');
};

/** What no request provokes at will: races, and limits that take very many requests. The function that refuses is called instead. */
export const REFUSED_DECISIONS = {
  changed_concurrently: async () =>
    refusalIn(() => changed({ kind: 'too_busy' }, 'Machine', (why: never) => new Refused(why))),
  gateway_stopping: async () => refusalIn(() => refuseWhenFull({ refuses: () => 'stopping' }, HOLDER)),
  run_too_large: async () => answered(new EventTooLarge('the event has 1 byte too many')),
} as const;
