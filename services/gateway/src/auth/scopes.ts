import type { KeyScope } from '@runledger/contracts/catalogue/records';
import { Refused } from '../http/refusal.ts';

const IMPLIED: Readonly<Record<KeyScope, readonly KeyScope[]>> = {
  'runs:read': ['runs:read'],
  'runs:write': ['runs:read', 'runs:write'],
  admin: ['runs:read', 'runs:write', 'admin'],
  // Separate from the others: it concerns what no organisation owns.
  operator: ['operator'],
};

/** Whether one of the scopes is the wanted one or implies it. */
export const allows = (scopes: readonly KeyScope[], wanted: KeyScope): boolean =>
  scopes.some((scope) => IMPLIED[scope].includes(wanted));

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
