import type { KeyScope } from './catalogue/records.ts';

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
