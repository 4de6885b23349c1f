import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { Refused } from '../http/refusal.ts';

/** `instead`: what to do. */
export const lacksScope = (scope: KeyScope, instead?: string): Refused =>
  new Refused({
    code: 'scope_missing',
    why: `This API key lacks the scope ${scope}${instead === undefined ? '' : `. ${instead}`}`,
  });

/** Of a person who is signed in. */
export const roleLacks = (scope: KeyScope): Refused =>
  new Refused({
    code: 'scope_missing',
    why: `Your role in this organisation lacks the scope ${scope}: ask an owner for another role`,
  });
